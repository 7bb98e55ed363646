// SPDX-License-Identifier: Apache-2.0
//
// One queue of a target over a message channel, control queue or virtqueue, in either dialect:
// commands are messages, data is fetched from and stored into the initiator's memory.
//
//   auto keyed = std::make_unique<TargetKeyed<V5>>(host, keyed_host, &directory, link, connect_id,
//                                                  now);
//   keyed->StartQueue(std::move(queue_grant), std::move(device_queue));
//   ... then it is driven as message_engine.h says ...
//
// A message is held until its answer is posted, so the receives posted never fall below the credits
// granted. What is readable is fetched for many requests at once; stores and completion of a
// request are one chain, with no wait between them. One thread.
#ifndef VOF_CORE_ENGINE_TARGET_KEYED_H_
#define VOF_CORE_ENGINE_TARGET_KEYED_H_

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/engine/action_ring.h"
#include "core/engine/bounded_fifo.h"
#include "core/engine/engine_host.h"
#include "core/engine/keyed_request_parser.h"
#include "core/engine/keyed_response.h"
#include "core/engine/lent_regions.h"
#include "core/engine/message_engine.h"
#include "core/engine/queue_link.h"
#include "core/engine/stall_watch.h"
#include "core/engine/target_control.h"
#include "core/engine/target_directory.h"
#include "core/engine/target_dispatch.h"
#include "core/engine/target_queue_life.h"
#include "core/engine/target_virtqueue.h"
#include "core/transport/region_map.h"
#include "core/wire/codec.h"

namespace vof {

// What keyed transmission needs of the thread beside EngineHost; outlives the engine.
struct KeyedHost {
  const RegionMap* regions = nullptr;  // the pool's memory
  LendMemoryFunction lend = nullptr;   // empty: what devices lend is copied
};

template <Codec C>
class TargetKeyed final : public MessageEngine, public AttachedQueue {
 public:
  TargetKeyed(const EngineHost& host, const KeyedHost& keyed, TargetDirectory* directory,
              std::shared_ptr<QueueLink> link, uint16_t connect_id, MonotonicTime now)
      : host_(host),
        lend_(keyed.lend),
        regions_(keyed.regions),
        directory_(directory),
        link_(std::move(link)),
        connect_id_(connect_id),
        ring_(kRingActions),
        last_receive_(now),
        stall_(directory->options().stall_timeout) {
    limits_.sizes = {directory->options().max_out_bytes, directory->options().max_in_bytes};
  }
  ~TargetKeyed() override { End(); }

  // One of the two, once. Each answers the Connect, whose message the caller has returned.
  void StartControl(std::shared_ptr<ControlPlace> place);
  void StartQueue(QueueGrant grant, std::unique_ptr<DeviceQueue> device);

  // --- MessageEngine ---
  int receive_depth() const override {
    return queue_ ? queue_->queue_size() + kSpareReceives : kControlReceives;
  }
  void OnEvents(std::span<const ChannelEvent> events, MonotonicTime now) override;
  std::span<const MessageAction> PendingActions() override {
    if (!closed_) Produce();
    return ring_.pending();
  }
  void OnPosted(size_t count) override { ring_.Pop(count); }
  bool has_output() const override {
    return !ring_.empty() || sends_ > 0 || response_.active() ||
           (queue_ && queue_->first_completed() != nullptr);
  }
  bool Advance(MonotonicTime now) override;
  bool has_pending_work() const override { return queue_ && queue_->device_in_flight() > 0; }
  int work_fd() const override { return queue_ ? queue_->wait_fd() : -1; }
  MonotonicTime NextDeadline() const override;
  void OnTimer(MonotonicTime now) override;
  bool wants_close() const override { return life_.wants_close(); }
  bool flush_before_close() const override {
    return life_.ending() == TargetQueueLife::Ending::kFlush;
  }
  void OnClosed(CloseReason reason, int error, MonotonicTime now) override;
  bool finished() const override { return closed_ && !has_pending_work(); }
  std::string Describe() const override;

  // --- AttachedQueue ---
  void OnInstanceState(const InstanceState& state) override;
  void OnReset(const InstanceState& state, std::shared_ptr<Gather> done) override;
  void OnInstanceClosed() override;
  void OnControlReply(CommandKind kind, const Completion& completion) override;
  void OnConfigChanged() override;
  void BeginDrain(Nanoseconds stall_timeout) override;
  bool is_control_queue() const override { return queue_ == nullptr; }
  const TargetInstance& instance() const override { return *instance_; }
  const QueueEnd& end() const override { return life_.end(); }
  bool drained_idle() const override { return drained_idle_; }
  QueueCounters counters() const override { return queue_ ? queue_->counters() : QueueCounters(); }

 private:
  // A batch of requests with a store and a completion each; half of it is kept for replies.
  static constexpr size_t kRingActions = 256;
  static constexpr size_t kKeptActions = 2 * kControlQueueSize + 32;
  static constexpr int kControlReceives = 2 * kControlQueueSize + 2;
  static constexpr int kSpareReceives = 2;
  // Tags: a request's address and what was posted for it, or a reply.
  static constexpr uint64_t kTagFetch = 1, kTagStore = 2, kTagSend = 3, kTagMask = 3;
  static constexpr uint64_t kTagReply = 0;

  struct Held {
    std::span<const std::byte> message;
    uint64_t tag = 0;
  };
  // The request whose fetches are being posted.
  struct Fetching {
    TargetRequest* request = nullptr;
    RemoteCursor<C> remote;
    std::byte* place = nullptr;
    uint32_t left_bytes = 0;
  };

  static uint64_t TagOf(TargetRequest* request, uint64_t what) {
    return reinterpret_cast<uint64_t>(request) | what;
  }
  static TargetRequest* RequestOf(uint64_t tag) {
    return reinterpret_cast<TargetRequest*>(tag & ~kTagMask);  // NOLINT(performance-no-int-to-ptr)
  }

  // --- Input (target_keyed_input.h) ---
  void OnPostDone(const ChannelEvent& event);
  uint64_t BytesOf(const ChannelEvent& event, const TargetRequest* request) const;
  void ConsumeHeld();
  bool HandleMessage(const Held& held);
  bool HandleVq(const Command& command, const Held& held);
  bool TakeRequest(const KeyedShape& shape, const Held& held);
  void BringPayload(TargetRequest* request, const KeyedShape& shape);
  bool HandleOther(const Command& command, const Held& held);
  void RefuseRequest(const KeyedShape& shape, Cause cause, uint16_t grant);
  void AgreeOnInline(const InstanceState& state);

  // --- Output and endings (target_keyed_output.h) ---
  bool HasRoomForReply() const { return ring_.room() >= kKeptActions; }
  void ReturnReceive(uint64_t tag) { ring_.Push(ActionKind::kReturnReceive, tag); }
  void Reply(CommandKind kind, const Completion& completion);
  void AnswerConnect();
  void Produce();
  bool ProduceFetches();
  bool ProduceResponses();
  bool BeginResponse();
  bool LendAnew();
  void FinishResponse();
  void ReleaseIfDone(TargetRequest* request);
  void WriteIdleGrant();
  bool FinishReset(MonotonicTime now);
  bool FinishEnding();
  void WatchForStall(MonotonicTime now);
  void CloseNow(EndCause cause, std::string_view why) {
    life_.CloseNow(cause, why);
    Wake();
  }
  void CloseNow(WireError error) { CloseNow(EndCause::kProtocol, WireErrorText(error)); }
  void EndWhenIdle(EndCause cause, std::string_view why);
  void End();

  const EngineHost host_;
  const LendMemoryFunction lend_;
  RegionMap regions_;  // the pool's memory, and what the device lends
  TargetDirectory* const directory_;
  const std::shared_ptr<QueueLink> link_;
  const uint16_t connect_id_;
  KeyedLimits limits_;

  std::shared_ptr<ControlPlace> control_place_;
  std::shared_ptr<QueuePlace> queue_place_;
  std::shared_ptr<TargetInstance> instance_;
  std::optional<ControlServer> control_;
  std::unique_ptr<TargetVirtqueue> queue_;  // null: control queue

  BoundedFifo<Held> held_;  // messages that were not handled yet
  RequestList to_fetch_;
  Fetching fetching_;
  KeyedResponse<C> response_;
  TargetRequest* responding_ = nullptr;
  ActionRing ring_;
  uint64_t sends_ = 0;      // messages whose events are missing, or not posted yet
  uint64_t transfers_ = 0;  // likewise, of fetches and stores
  uint64_t requests_ = 0;   // taken and not released
  bool stalled_ = false;

  MonotonicTime last_receive_;
  uint64_t moved_bytes_ = 0;  // with the help of the peer
  StallWatch stall_;
  TargetQueueLife life_;
  std::optional<uint16_t> disconnect_id_;
  bool closed_ = false;
  bool draining_ = false;
  bool drained_idle_ = false;
  MonotonicTime drain_settled_at_ = kInfiniteFuture;
};

}  // namespace vof

#include "core/engine/target_keyed_input.h"   // IWYU pragma: export
#include "core/engine/target_keyed_output.h"  // IWYU pragma: export

#endif  // VOF_CORE_ENGINE_TARGET_KEYED_H_
