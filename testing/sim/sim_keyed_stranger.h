// SPDX-License-Identifier: Apache-2.0
//
// Somebody at the target's door on the fabric who has no business there: sends a message, some
// times, perhaps with memory that it shows, listens for a while, goes away.
//
//   auto stranger = std::make_unique<SimKeyedStranger>(message, std::move(shown), leave_at,
//       [](const SimStranger::Bytes& answer) { ... });
#ifndef VOF_TESTING_SIM_SIM_KEYED_STRANGER_H_
#define VOF_TESTING_SIM_SIM_KEYED_STRANGER_H_

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/message_engine.h"
#include "core/transport/domain.h"
#include "testing/sim/sim_stranger.h"

namespace vof {

class SimKeyedStranger final : public MessageEngine {
 public:
  using Bytes = SimStranger::Bytes;

  // Memory that stays registered until the connection is over.
  struct Shown {
    Bytes bytes;
    Region region;
  };

  // `message` has kMinInlineBytes at most.
  SimKeyedStranger(std::span<const std::byte> message, int times, Shown shown,
                   MonotonicTime leave_at, SimStranger::OnEnd on_end)
      : shown_(std::move(shown)),
        leave_at_(leave_at),
        on_end_(std::move(on_end)),
        actions_(static_cast<size_t>(times)) {
    for (MessageAction& action : actions_) action.Append(message);
  }

  int receive_depth() const override { return 4; }
  void OnEvents(std::span<const ChannelEvent> events, MonotonicTime) override {
    for (const ChannelEvent& event : events) {
      if (event.kind != ChannelEventKind::kReceived) continue;
      answer_.insert(answer_.end(), event.message.begin(), event.message.end());
      MessageAction back;
      back.kind = ActionKind::kReturnReceive;
      back.tag = event.tag;
      actions_.push_back(back);
    }
  }
  std::span<const MessageAction> PendingActions() override {
    if (leaves_) return {};
    for (MessageAction& action : actions_) {
      if (action.kind == ActionKind::kSend) action.local.data = action.bytes.data();
    }
    return actions_;
  }
  void OnPosted(size_t count) override {
    actions_.erase(actions_.begin(), actions_.begin() + static_cast<ptrdiff_t>(count));
  }
  bool has_output() const override { return !actions_.empty(); }
  bool Advance(MonotonicTime) override { return false; }
  bool has_pending_work() const override { return false; }
  int work_fd() const override { return -1; }
  MonotonicTime NextDeadline() const override { return leaves_ ? kInfiniteFuture : leave_at_; }
  void OnTimer(MonotonicTime) override { leaves_ = true; }
  bool wants_close() const override { return leaves_; }
  bool flush_before_close() const override { return false; }
  void OnClosed(CloseReason, int, MonotonicTime) override {
    if (!std::exchange(closed_, true)) on_end_(answer_);
  }
  bool finished() const override { return closed_; }
  std::string Describe() const override { return "keyed stranger"; }

 private:
  const Shown shown_;
  const MonotonicTime leave_at_;
  const SimStranger::OnEnd on_end_;
  std::vector<MessageAction> actions_;
  Bytes answer_;
  bool leaves_ = false;
  bool closed_ = false;
};

}  // namespace vof

#endif  // VOF_TESTING_SIM_SIM_KEYED_STRANGER_H_
