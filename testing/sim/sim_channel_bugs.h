// SPDX-License-Identifier: Apache-2.0
//
// The bugs of the plan that only keyed transmission can have, put in between the target's engine
// and its channel.
//
//   if (bugs.DelayReturn(tag)) return;               // the receive is given back later
//   if (bugs.HoldBack(post)) return PostStatus::kOk;  // the store goes out behind the completion
//   bugs.OnPosted(post);                             // the buffer is reused, the key is used again
//   return bugs.Hide(link->Reap(side, events));      // nobody is told of posts of the bug
#ifndef VOF_TESTING_SIM_SIM_CHANNEL_BUGS_H_
#define VOF_TESTING_SIM_SIM_CHANNEL_BUGS_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>

#include "testing/sim/sim_context.h"
#include "testing/sim/sim_fabric_link.h"

namespace vof {

struct SimPost {
  SimPostKind kind = SimPostKind::kSend;
  LocalBuffer local;
  RemoteBuffer remote;
  uint64_t tag = 0;
};

class SimChannelBugs {
 public:
  SimChannelBugs(SimContext* context, SimFabricLink* link, int side)
      : context_(context), link_(link), side_(side) {}

  // kEarlyCredit: receives are posted some answers after the credit was given for them.
  bool DelayReturn(uint64_t tag) {
    const bool begins = !returns_late_ && Happens(SimBug::kEarlyCredit);
    returns_late_ = returns_late_ || begins;
    if (returns_late_) late_returns_.push_back(tag);
    return returns_late_;
  }

  // kEarlyCompletion: the completion overtakes one of its stores.
  bool HoldBack(const SimPost& post) {
    const bool is_late = post.kind == SimPostKind::kStore && !held_back_ &&
                         post.local.size_bytes > link_->limits().inline_bytes &&
                         Happens(SimBug::kEarlyCompletion);
    if (is_late) held_back_ = post;
    return is_late;
  }

  void OnPosted(const SimPost& post) {
    if (post.kind == SimPostKind::kSend) return OnSent();
    last_ = post;
    const bool is_owned = post.local.size_bytes > link_->limits().inline_bytes;
    // kEarlyReuse: somebody else writes into the memory before the event.
    if (is_owned && Happens(SimBug::kEarlyReuse)) post.local.data[0] ^= std::byte{1};
  }

  std::span<ChannelEvent> Hide(std::span<ChannelEvent> events) const {
    size_t kept = 0;
    for (size_t i = 0; i < events.size(); ++i) {
      if (events[i].tag != kOwnTag || events[i].kind == ChannelEventKind::kReceived) {
        events[kept++] = events[i];
      }
    }
    return events.first(kept);
  }

 private:
  static constexpr uint64_t kOwnTag = UINT64_MAX;
  static constexpr size_t kLateReturns = 3;

  bool Happens(SimBug bug) {
    return side_ == SimWire::kTarget && link_->observer() != nullptr &&
           link_->observer()->is_virtqueue() && context_->Sabotage(bug);
  }

  void OnSent() {
    if (late_returns_.size() > kLateReturns) {
      link_->ReturnReceive(side_, late_returns_.front());
      late_returns_.pop_front();
    }
    if (held_back_) {
      const SimPost post = *std::exchange(held_back_, std::nullopt);
      PostLate(post, post.tag);
    }
    // kLateKey: what the request has shown is used once more, behind its completion.
    if (last_ && last_->kind == SimPostKind::kStore && Happens(SimBug::kLateKey)) {
      PostLate(*last_, kOwnTag);
    }
    last_.reset();
  }

  // Does no harm that must be seen when there is no room for it.
  void PostLate(const SimPost& post, uint64_t tag) {
    const PostStatus status = link_->Post(side_, post.kind, {&post.local, 1}, post.remote, 0, tag);
    if (status == PostStatus::kOk) context_->effect.TookPlace();
  }

  SimContext* const context_;
  SimFabricLink* const link_;
  const int side_;
  bool returns_late_ = false;
  std::deque<uint64_t> late_returns_;
  std::optional<SimPost> held_back_;
  std::optional<SimPost> last_;  // since the last message
};

}  // namespace vof

#endif  // VOF_TESTING_SIM_SIM_CHANNEL_BUGS_H_
