// SPDX-License-Identifier: Apache-2.0
//
// What a target attaches to each accepted stream: reads the Connect, asks the directory, becomes
// the queue.
//
//   auto engine = std::make_unique<TargetConnection>(host, &directory, link->peer(), now);
//   reactor->Add(link->Attach(std::move(engine)));
//
// Detects the dialect from the first 16 bytes (docs/protocol.md). Never reads past the Connect
// before it is answered. A refused Connect is answered and then closed; what is no Connect, or
// comes too slowly, is closed without an answer. One thread.
#ifndef VOF_CORE_ENGINE_TARGET_CONNECTION_H_
#define VOF_CORE_ENGINE_TARGET_CONNECTION_H_

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "core/engine/stream_engine.h"
#include "core/engine/target_endpoint.h"

namespace vof {

class TargetConnection final : public StreamEngine {
 public:
  TargetConnection(const EngineHost& host, TargetDirectory* directory, PeerIdentity peer,
                   MonotonicTime now);

  // For its owner: drains, reports, counters.
  TargetEndpoint& endpoint() { return endpoint_; }
  const TargetEndpoint& endpoint() const { return endpoint_; }
  // It has ended by a drain, nobody waits for an answer: the transport need not linger.
  bool drained_idle() const { return finished() && endpoint_.drained_idle(); }

  // --- StreamEngine ---
  int PrepareRead(MutableBuffer scratch, std::span<MutableBuffer> into) override;
  void OnRead(size_t bytes, MonotonicTime now) override;
  bool wants_read() const override {
    return queue_ ? queue_->wants_read() : endpoint_.phase() == Phase::kCollecting;
  }
  bool Advance(MonotonicTime now) override;
  bool has_pending_work() const override { return queue_ && queue_->has_pending_work(); }
  int work_fd() const override { return queue_ ? queue_->work_fd() : -1; }
  int PrepareWrite(std::span<ConstBuffer> from) override;
  void OnWritten(size_t bytes) override;
  bool wants_write() const override {
    return queue_ ? queue_->wants_write()
                  : endpoint_.phase() == Phase::kRefused && refusal_sent_bytes_ < kHeaderBytes;
  }
  MonotonicTime NextDeadline() const override {
    return queue_ ? queue_->NextDeadline() : endpoint_.deadline();
  }
  void OnTimer(MonotonicTime now) override;
  bool wants_close() const override {
    return queue_ ? queue_->wants_close()
                  : endpoint_.phase() == Phase::kRefused || endpoint_.phase() == Phase::kClosing;
  }
  bool flush_before_close() const override {
    return queue_ ? queue_->flush_before_close() : endpoint_.phase() == Phase::kRefused;
  }
  void OnClosed(CloseReason reason, int error, MonotonicTime now) override;
  bool finished() const override {
    return queue_ ? queue_->finished() : endpoint_.phase() == Phase::kClosed;
  }
  std::string Describe() const override {
    return queue_ ? queue_->Describe() : endpoint_.Describe();
  }

 private:
  using Phase = TargetEndpoint::Phase;

  void OnConnect();
  void StartControl(std::shared_ptr<ControlPlace> place);
  void StartQueue(QueueGrant grant, std::unique_ptr<DeviceQueue> device);
  template <typename Stream>
  std::unique_ptr<Stream> NewStream();

  static constexpr size_t kLongestConnect = kHeaderBytes + 24 + kConnectBodyBytes;

  TargetEndpoint endpoint_;
  MonotonicTime now_;
  size_t wanted_bytes_ = kHeaderBytes;
  size_t received_bytes_ = 0;
  std::array<std::byte, kLongestConnect> received_;
  size_t refusal_sent_bytes_ = 0;
  std::unique_ptr<StreamEngine> queue_;  // once connected; goes before the endpoint
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_TARGET_CONNECTION_H_
