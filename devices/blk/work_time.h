// SPDX-License-Identifier: Apache-2.0
//
// How long work that others wait for may take: a share of each window of time.
//
//   WorkTime time({.share = 300 us, .window = 1 ms});
//   while (time.Begin(now) && more) { DoAStep(); time.End(MonotonicNow() - now); ... }
//
// A step that takes longer than the share is paid back in the windows that follow. One thread.
#ifndef VOF_DEVICES_BLK_WORK_TIME_H_
#define VOF_DEVICES_BLK_WORK_TIME_H_

#include <algorithm>

#include "core/base/time.h"

namespace vof {

class WorkTime {
 public:
  struct Rule {
    Nanoseconds share = 0;
    Nanoseconds window = 0;
  };
  explicit constexpr WorkTime(const Rule& rule) noexcept : rule_(rule) {}

  // Whether a step may be done now.
  bool Begin(MonotonicTime now) {
    if (now >= window_end_) {
      const Nanoseconds windows = 1 + (now - window_end_) / rule_.window;
      // What was spent too much in the last ones is missing from those that have passed since.
      const bool owes = left_ < 0 && windows <= kMostDebtWindows;
      left_ = owes ? std::min(rule_.share, left_ + windows * rule_.share) : rule_.share;
      window_end_ = now + rule_.window;
    }
    return left_ > 0;
  }
  void End(Nanoseconds spent) { left_ -= spent; }

 private:
  static constexpr Nanoseconds kMostDebtWindows = 1'000'000;

  Rule rule_;
  MonotonicTime window_end_ = 0;
  Nanoseconds left_ = 0;
};

}  // namespace vof

#endif  // VOF_DEVICES_BLK_WORK_TIME_H_
