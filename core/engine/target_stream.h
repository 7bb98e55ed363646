// SPDX-License-Identifier: Apache-2.0
//
// One queue of a target over a byte stream, control queue or virtqueue, in either dialect.
//
//   auto stream = std::make_unique<TargetStream<V5>>(host, &directory, link, connect_command_id,
//   now); stream->StartControl(std::move(control_grant.place));            // or
//   stream->StartQueue(std::move(queue_grant), std::move(device_queue));
//   ... then it is driven as stream_engine.h says ...
//
// Made by TargetConnection, which has read the Connect. Requests are parsed in the receive buffer
// and handed to the device in batches; nothing per request is virtual or allocated here. One
// thread.
#ifndef VOF_CORE_ENGINE_TARGET_STREAM_H_
#define VOF_CORE_ENGINE_TARGET_STREAM_H_

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/engine/byte_stash.h"
#include "core/engine/engine_host.h"
#include "core/engine/queue_end.h"
#include "core/engine/queue_link.h"
#include "core/engine/stall_watch.h"
#include "core/engine/stream_engine.h"
#include "core/engine/target_control.h"
#include "core/engine/target_directory.h"
#include "core/engine/target_dispatch.h"
#include "core/engine/target_queue_life.h"
#include "core/engine/target_request_parser.h"
#include "core/engine/target_response.h"
#include "core/engine/target_virtqueue.h"
#include "core/wire/codec.h"

namespace vof {

// Received at a time, and kept at most while a peer does not read its answers.
inline constexpr size_t kControlReadBytes = 32u << 10;

// Commands whose answers the peer has not got yet: answered ones count until they are sent.
class UnsentReplies {
 public:
  size_t Count(uint64_t sent_bytes) {
    while (first_ != end_ && marks_[first_ % marks_.size()] <= sent_bytes) ++first_;
    return end_ - first_;
  }
  void Add(uint64_t mark) { marks_[end_++ % marks_.size()] = mark; }  // below the limit only

 private:
  std::array<uint64_t, 2 * kControlQueueSize> marks_{};
  size_t first_ = 0, end_ = 0;
};

template <Codec C>
class TargetStream final : public StreamEngine, public AttachedQueue {
 public:
  TargetStream(const EngineHost& host, TargetDirectory* directory, std::shared_ptr<QueueLink> link,
               uint16_t connect_id, MonotonicTime now)
      : host_(host),
        directory_(directory),
        link_(std::move(link)),
        limits_{directory->options().max_out_bytes, directory->options().max_in_bytes},
        connect_id_(connect_id),
        last_receive_(now),
        stall_(directory->options().stall_timeout) {}
  ~TargetStream() override { End(); }

  // One of the two, once. Each answers the Connect.
  void StartControl(std::shared_ptr<ControlPlace> place);
  void StartQueue(QueueGrant grant, std::unique_ptr<DeviceQueue> device);

  // --- StreamEngine ---
  int PrepareRead(MutableBuffer scratch, std::span<MutableBuffer> into) override;
  void OnRead(size_t bytes, MonotonicTime now) override;
  bool wants_read() const override { return life_.goes_on() && !stalled_ && !life_.resetting(); }
  bool Advance(MonotonicTime now) override;
  bool has_pending_work() const override { return queue_ && queue_->device_in_flight() > 0; }
  int work_fd() const override { return queue_ ? queue_->wait_fd() : -1; }
  int PrepareWrite(std::span<ConstBuffer> from) override {
    if (queue_) WriteCompleted();
    return writer_->out().Fill(from);
  }
  void OnWritten(size_t bytes) override;
  bool wants_write() const override { return !writer_->out().empty(); }
  MonotonicTime NextDeadline() const override;
  void OnTimer(MonotonicTime now) override;
  bool wants_close() const override { return life_.wants_close(); }
  bool flush_before_close() const override { return life_.ending() == Ending::kFlush; }
  void OnClosed(CloseReason reason, int error, MonotonicTime now) override;
  bool finished() const override { return closed_ && !has_pending_work(); }
  std::string Describe() const override;

  // --- AttachedQueue ---
  void OnInstanceState(const InstanceState& state) override {
    if (queue_) queue_->SetState(state);
  }
  void OnReset(const InstanceState& state, std::shared_ptr<Gather> done) override;
  void OnInstanceClosed() override;
  void OnControlReply(CommandKind kind, const Completion& completion) override;
  void OnConfigChanged() override;
  void BeginDrain(Nanoseconds stall_timeout) override;
  bool is_control_queue() const override { return queue_ == nullptr; }
  const TargetInstance& instance() const override { return *instance_; }
  const QueueEnd& end() const override { return life_.end(); }
  bool drained_idle() const override { return drain_.idle; }
  QueueCounters counters() const override { return queue_ ? queue_->counters() : QueueCounters(); }

 private:
  using Ending = TargetQueueLife::Ending;

  // --- Input (target_stream_input.h) ---
  size_t Consume(std::span<const std::byte> bytes);
  bool ConsumeStash();
  size_t HandleMessage(std::span<const std::byte> bytes);
  size_t HandleVq(const Command& command, std::span<const std::byte> bytes);
  size_t TakeRequest(const RequestShape& shape, size_t header_bytes,
                     std::span<const std::byte> bytes);
  size_t ReceivePayload(TargetRequest* request, std::span<const std::byte> payload);
  size_t HandleOther(const Command& command);
  void Reply(CommandKind kind, const Completion& completion);
  void AnswerConnect();
  size_t Refuse(const Command& command, Cause cause, uint16_t grant = 0);
  // Stops reading until Advance finds that things have changed; the message is looked at again
  // then.
  size_t Stall() {
    stalled_ = true;
    return 0;
  }

  // What the peer had sent before the drain began is taken first.
  struct Drain {
    static constexpr uint64_t kLookAgain = UINT64_MAX;
    bool active = false;
    bool idle = false;
    uint64_t seen_bytes = kLookAgain;  // received when it was looked at last
    uint64_t sent_before = 0;
    MonotonicTime settled_at = kInfiniteFuture;  // reads no more from then on
  };

  // --- Acting and ending ---
  bool WriteCompleted();
  bool FinishReset(MonotonicTime now);
  bool FinishEnding();
  void WatchForStall(MonotonicTime now);
  void WriteIdleGrant();
  bool DrainMustWait() const { return stalled_ || receiving_.size_bytes > 0 || life_.resetting(); }
  bool ContinueDrain(MonotonicTime now);
  void CloseNow(EndCause cause, std::string_view why);
  void CloseNow(WireError error) { CloseNow(EndCause::kProtocol, WireErrorText(error)); }
  void EndWhenIdle(EndCause cause, std::string_view why);
  void DropReceiving();
  void End();

  const EngineHost host_;
  TargetDirectory* const directory_;
  const std::shared_ptr<QueueLink> link_;
  const RequestLimits limits_;
  const uint16_t connect_id_;

  std::shared_ptr<ControlPlace> control_place_;
  std::shared_ptr<QueuePlace> queue_place_;
  std::shared_ptr<TargetInstance> instance_;
  std::optional<ResponseWriter<C>> writer_;
  std::optional<ControlServer> control_;
  std::unique_ptr<TargetVirtqueue> queue_;  // null: control queue
  UnsentReplies unsent_replies_;

  // Input.
  MutableBuffer scratch_;     // of the last PrepareRead
  size_t scratch_front_ = 0;  // bytes of the stash that were put before what is read
  ByteStash stash_;
  TargetRequest* receiving_request_ = nullptr;
  MutableBuffer receiving_;  // what is left of its payload
  uint64_t skip_bytes_ = 0;  // payload of a refused request
  bool stalled_ = false;

  // Time and endings.
  MonotonicTime last_receive_;
  uint64_t received_bytes_ = 0;
  StallWatch stall_;
  TargetQueueLife life_;
  std::optional<uint16_t> disconnect_id_;
  bool closed_ = false;
  Drain drain_;
};

}  // namespace vof

#include "core/engine/target_stream_input.h"   // IWYU pragma: export
#include "core/engine/target_stream_output.h"  // IWYU pragma: export

#endif  // VOF_CORE_ENGINE_TARGET_STREAM_H_
