// SPDX-License-Identifier: Apache-2.0
//
// Notices a peer that owes progress - the rest of a payload, or the reading of an answer - and
// makes none. Memory is reserved for it meanwhile, so without a limit one peer that hangs could
// starve all others.
//
//   watch.Update(owes, bytes_moved, now);          // once per turn, and when the deadline has
//   passed if (watch.Expired(now)) Close();
//
// One thread; no clock.
#ifndef VOF_CORE_ENGINE_STALL_WATCH_H_
#define VOF_CORE_ENGINE_STALL_WATCH_H_

#include <algorithm>
#include <cstdint>

#include "core/base/time.h"

namespace vof {

class StallWatch {
 public:
  explicit StallWatch(Nanoseconds timeout) : timeout_(timeout) {}

  // `bytes_moved`: ever, in both directions; any change is progress.
  void Update(bool owes, uint64_t bytes_moved, MonotonicTime now) {
    if (!owes) {
      since_ = kInfiniteFuture;
    } else if (since_ == kInfiniteFuture || bytes_moved != bytes_moved_) {
      since_ = now;
    }
    bytes_moved_ = bytes_moved;
  }
  // Never makes it longer.
  void Shorten(Nanoseconds timeout) { timeout_ = std::min(timeout_, timeout); }
  // Of the last Update.
  MonotonicTime deadline() const { return DeadlineAfter(since_, timeout_); }
  bool Expired(MonotonicTime now) const { return now >= deadline(); }

 private:
  Nanoseconds timeout_;
  MonotonicTime since_ = kInfiniteFuture;  // since when it has owed without progress
  uint64_t bytes_moved_ = 0;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_STALL_WATCH_H_
