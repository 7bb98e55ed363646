// SPDX-License-Identifier: Apache-2.0
//
// Drives one MessageEngine over one message channel; the engine never sees the channel.
//
//   reactor->Add(std::make_unique<MessageConnection<FabricChannel>>(std::move(channel),
//                                                                   std::move(engine)));
//
// A turn is: reap, Advance, post in one chain, ring the doorbell. When the connection ends, the
// channel is closed first; the engine is told only when every posted buffer came back, so that
// nobody reuses memory which the fabric may still touch.
#ifndef VOF_CORE_RUNTIME_MESSAGE_CONNECTION_H_
#define VOF_CORE_RUNTIME_MESSAGE_CONNECTION_H_

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "core/base/buffer.h"
#include "core/base/limits.h"
#include "core/base/time.h"
#include "core/base/uninitialized_array.h"
#include "core/engine/message_engine.h"
#include "core/runtime/connection.h"
#include "core/transport/message_channel.h"

namespace vof {

template <MessageChannel C>
class MessageConnection final : public Connection {
 public:
  MessageConnection(std::unique_ptr<C> channel, std::unique_ptr<MessageEngine> engine)
      : channel_(std::move(channel)), engine_(std::move(engine)) {}

  PollResult Poll(MonotonicTime now, MutableBuffer) override {
    moved_ = more_ = false;
    Reap(now);
    if (!engine_->finished() && engine_->Advance(now)) moved_ = true;
    if (phase_ == Phase::kOpen) PollOpen(now);
    if (phase_ == Phase::kClosing && channel_->drained()) TellEngine(now);
    if (more_) return PollResult::kProgress;
    return moved_ ? PollResult::kDrained : PollResult::kIdle;
  }

  bool PrepareToSleep(WaitSet* wait) override {
    *wait = WaitSet{};
    if (!engine_->finished() && engine_->has_pending_work()) {
      wait->work_fd = engine_->work_fd();
      wait->poll_again = wait->work_fd < 0;
    }
    if (phase_ == Phase::kClosed) return true;
    if (!channel_->Arm()) return false;
    wait->transport_fd = channel_->wait_fd();
    wait->want_read = wait->transport_fd >= 0;
    wait->poll_again = wait->poll_again || wait->transport_fd < 0;
    return true;
  }

  MonotonicTime NextDeadline() const override {
    return std::min(engine_->NextDeadline(), end_deadline_);
  }
  void OnTimer(MonotonicTime now) override {
    if (now >= engine_->NextDeadline()) engine_->OnTimer(now);
    if (now < end_deadline_) return;
    end_deadline_ = kInfiniteFuture;
    if (phase_ == Phase::kOpen) CloseChannel(CloseReason::kLocal, ETIMEDOUT);
    if (wake_) wake_();
  }

  void Close(CloseReason reason, MonotonicTime) override {
    if (phase_ == Phase::kOpen) CloseChannel(reason, 0);
    if (wake_) wake_();
  }
  bool finished() const override { return phase_ == Phase::kClosed && engine_->finished(); }
  std::string Describe() const override {
    return engine_->Describe() + " at " + channel_->peer().Text();
  }
  void SetWake(std::function<void()> wake) override {
    engine_->set_wake(wake);
    wake_ = std::move(wake);
  }

  MessageEngine& engine() { return *engine_; }

 private:
  enum class Phase : uint8_t {
    kOpen,
    kClosing,  // the channel gives its buffers back
    kClosed,   // the engine knows
  };
  static constexpr size_t kEventsPerReap = 64;

  void Reap(MonotonicTime now) {
    if (phase_ == Phase::kClosed) return;
    UninitializedArray<ChannelEvent, kEventsPerReap> events;
    for (int i = 0; i < kMaxReceivesPerTurn; ++i) {
      const std::span<ChannelEvent> reaped = channel_->Reap(events.span());
      if (reaped.empty()) return;
      moved_ = true;
      engine_->OnEvents(reaped, now);
      for (const ChannelEvent& event : reaped) {
        if (event.kind == ChannelEventKind::kDisconnected) disconnected_ = true;
        if (!event.ok && event.kind != ChannelEventKind::kDisconnected) broken_ = true;
      }
      if (reaped.size() < kEventsPerReap) return;
    }
    more_ = true;
  }

  void PollOpen(MonotonicTime now) {
    KeepReceives();
    Post();
    if (disconnected_ || broken_) {
      CloseChannel(broken_ ? CloseReason::kPeerReset : CloseReason::kPeerClosed,
                   broken_ ? ECONNRESET : 0);
    } else if (engine_->wants_close()) {
      if (!engine_->flush_before_close() || !engine_->has_output()) {
        CloseChannel(CloseReason::kLocal, 0);
      } else if (end_deadline_ == kInfiniteFuture) {
        end_deadline_ = DeadlineAfter(now, kFlushTimeout);
      }
    }
  }

  // A handshake needs fewer than the queue that it becomes.
  void KeepReceives() {
    const int wanted = engine_->receive_depth();
    if (wanted <= receive_depth_) return;
    if (!channel_->SetReceiveDepth(wanted).ok()) return CloseChannel(CloseReason::kLocal, ENOMEM);
    receive_depth_ = wanted;
    moved_ = true;
  }

  void Post() {
    bool posted_any = false;
    while (phase_ == Phase::kOpen) {
      const std::span<const MessageAction> actions = engine_->PendingActions();
      if (actions.empty()) break;
      size_t posted = 0;
      PostStatus status = PostStatus::kOk;
      while (posted < actions.size() && status == PostStatus::kOk) {
        status = PostOne(actions[posted]);
        posted += status == PostStatus::kOk;
      }
      engine_->OnPosted(posted);
      posted_any |= posted > 0;
      if (status == PostStatus::kClosed) broken_ = true;
      if (status != PostStatus::kOk) break;
    }
    if (!posted_any) return;
    channel_->Flush();
    moved_ = true;
  }

  PostStatus PostOne(const MessageAction& action) {
    const std::span<const LocalBuffer> local(&action.local, 1);
    switch (action.kind) {
      case ActionKind::kSend:
        return channel_->PostSend(local, action.tag);
      case ActionKind::kFetch:
        return channel_->PostFetch(local, action.remote, action.tag);
      case ActionKind::kStore:
        return channel_->PostStore(local, action.remote, action.tag);
      case ActionKind::kReturnReceive:
        channel_->ReturnReceive(action.tag);
        return PostStatus::kOk;
    }
    return PostStatus::kOk;
  }

  void CloseChannel(CloseReason reason, int error) {
    phase_ = Phase::kClosing;
    reason_ = reason;
    error_ = error;
    moved_ = true;
    channel_->Close();
  }

  void TellEngine(MonotonicTime now) {
    phase_ = Phase::kClosed;
    end_deadline_ = kInfiniteFuture;
    moved_ = true;
    engine_->OnClosed(reason_, error_, now);
    if (!engine_->finished()) engine_->Advance(now);
  }

  std::unique_ptr<C> channel_;
  std::unique_ptr<MessageEngine> engine_;
  std::function<void()> wake_;
  MonotonicTime end_deadline_ = kInfiniteFuture;
  Phase phase_ = Phase::kOpen;
  CloseReason reason_ = CloseReason::kLocal;
  int error_ = 0;
  int receive_depth_ = 0;
  bool disconnected_ = false;
  bool broken_ = false;
  bool moved_ = false;  // in this turn
  bool more_ = false;   // in this turn: there is more to do
};

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_MESSAGE_CONNECTION_H_
