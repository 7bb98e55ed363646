// SPDX-License-Identifier: Apache-2.0
//
// Notices a peer that owes progress - the rest of a payload, or the reading of an answer - and
// makes none. Memory is reserved for it meanwhile, so without a limit one peer that hangs could
// starve all others.
//
//   watch.Update(owes, bytes_moved, now, rule);    // once per turn, and at next_look()
//   if (watch.Expired(now)) Close();
//
// One thread; no clock.
#ifndef VOF_CORE_ENGINE_STALL_WATCH_H_
#define VOF_CORE_ENGINE_STALL_WATCH_H_

#include <algorithm>
#include <cstdint>

#include "core/base/limits.h"
#include "core/base/time.h"

namespace vof {

// What a peer that owes has to do.
struct StallRule {
  uint64_t required_bytes = 1;            // to be moved within the time-out
  Nanoseconds timeout = kInfiniteFuture;  // shorter than the watch's own, or nothing
};

// Of a peer for which `held_bytes` of a pool are reserved, while others wait for `waiting_bytes` of
// it.
constexpr StallRule ContendedStallRule(uint64_t held_bytes, uint64_t waiting_bytes,
                                       uint64_t pool_bytes) {
  // How often the whole pool has to change hands until the last of them is served.
  const uint64_t rounds = waiting_bytes / std::max<uint64_t>(pool_bytes, 1) + 1;
  const Nanoseconds timeout = std::max(kContendedStallTimeout / static_cast<Nanoseconds>(rounds),
                                       kMinContendedStallTimeout);
  const uint64_t most_bytes = kStallProgressBytes * static_cast<uint64_t>(timeout) /
                              static_cast<uint64_t>(kContendedStallTimeout);
  return {std::clamp<uint64_t>(held_bytes, 1, most_bytes), timeout};
}

class StallWatch {
 public:
  explicit StallWatch(Nanoseconds timeout) : timeout_(timeout) {}

  // `bytes_moved`: ever, in both directions. By the first rule any change is progress; a stricter
  // one is for those that keep others waiting.
  void Update(bool owes, uint64_t bytes_moved, MonotonicTime now, const StallRule& rule = {}) {
    const bool progress = bytes_moved - bytes_moved_ >= rule.required_bytes;
    rule_timeout_ = rule.timeout;
    updated_at_ = now;
    if (!owes) {
      since_ = kInfiniteFuture;
    } else if (since_ == kInfiniteFuture || progress) {
      since_ = now;
    }
    if (!owes || since_ == now) bytes_moved_ = bytes_moved;
  }
  // Never makes it longer.
  void Shorten(Nanoseconds timeout) { timeout_ = std::min(timeout_, timeout); }
  // Of the last Update.
  MonotonicTime deadline() const {
    return DeadlineAfter(since_, std::min(timeout_, rule_timeout_));
  }
  bool Expired(MonotonicTime now) const { return now >= deadline(); }
  // When Update has to be called again although nothing moves: others may have begun to wait, which
  // makes the rule stricter.
  MonotonicTime next_look() const {
    if (since_ == kInfiniteFuture) return kInfiniteFuture;
    return std::min(deadline(), DeadlineAfter(updated_at_, kMinContendedStallTimeout));
  }

 private:
  Nanoseconds timeout_;
  Nanoseconds rule_timeout_ = kInfiniteFuture;
  MonotonicTime since_ = kInfiniteFuture;  // since when it has owed without progress
  uint64_t bytes_moved_ = 0;               // then
  MonotonicTime updated_at_ = 0;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_STALL_WATCH_H_
