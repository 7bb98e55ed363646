// SPDX-License-Identifier: Apache-2.0
//
// What a target attaches to each accepted message channel: fetches the body of the Connect, asks
// the directory, becomes the queue.
//
//   auto engine = std::make_unique<TargetMessages>(host, keyed_host, &directory, peer, now);
//   reactor->Add(link->AttachMessages(std::move(engine)));
//
// As target_connection.h, for keyed transmission. Nothing is sent before the Connect has come:
// known initiators post their receives only then. One thread.
#ifndef VOF_CORE_ENGINE_TARGET_MESSAGES_H_
#define VOF_CORE_ENGINE_TARGET_MESSAGES_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/engine/action_ring.h"
#include "core/engine/message_engine.h"
#include "core/engine/target_endpoint.h"
#include "core/engine/target_keyed.h"
#include "core/memory/buffer_pool.h"

namespace vof {

class TargetMessages final : public MessageEngine, private PoolWaiter {
 public:
  TargetMessages(const EngineHost& host, const KeyedHost& keyed, TargetDirectory* directory,
                 PeerIdentity peer, MonotonicTime now);
  ~TargetMessages() override { endpoint_.host().pool->Forget(this); }

  // For its owner: drains, reports, counters.
  TargetEndpoint& endpoint() { return endpoint_; }

  // --- MessageEngine ---
  int receive_depth() const override {
    return queue_ ? queue_->receive_depth() : kHandshakeReceives;
  }
  void OnEvents(std::span<const ChannelEvent> events, MonotonicTime now) override;
  std::span<const MessageAction> PendingActions() override {
    return !ring_.empty() || !queue_ ? ring_.pending() : queue_->PendingActions();
  }
  void OnPosted(size_t count) override {
    return !ring_.empty() || !queue_ ? ring_.Pop(count) : queue_->OnPosted(count);
  }
  bool has_output() const override {
    return !ring_.empty() || refusal_unsent_ || (queue_ && queue_->has_output());
  }
  bool Advance(MonotonicTime now) override;
  bool has_pending_work() const override { return queue_ && queue_->has_pending_work(); }
  int work_fd() const override { return queue_ ? queue_->work_fd() : -1; }
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
  static constexpr int kHandshakeReceives = 2;

  void OnFirstMessage(std::span<const std::byte> message);
  void FetchBody();
  void OnBody();
  void OnPoolMayHaveMemory() override { Wake(); }
  void StartControl(std::shared_ptr<ControlPlace> place);
  void StartQueue(QueueGrant grant, std::unique_ptr<DeviceQueue> device);
  template <typename Keyed>
  std::unique_ptr<Keyed> NewKeyed();

  const KeyedHost keyed_;
  TargetEndpoint endpoint_;
  MonotonicTime now_;
  ActionRing ring_{8};  // of the handshake
  PoolBuffer body_;
  std::optional<Segment> body_segment_;  // of the initiator's memory; once there is memory for it
  bool connect_seen_ = false;
  bool refusal_pushed_ = false;
  bool refusal_unsent_ = false;
  std::unique_ptr<MessageEngine> queue_;  // once connected; goes before the endpoint
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_TARGET_MESSAGES_H_
