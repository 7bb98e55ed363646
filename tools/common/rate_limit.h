// SPDX-License-Identifier: Apache-2.0
//
// Keeps a log readable when its events come from a broken disk or an unfriendly peer.
//
//   RateLimit limit({.burst = 20, .interval = 10 * kNanosecondsPerSecond});
//   if (const auto suppressed = limit.Admit(MonotonicNow())) Log(text, *suppressed);
//
// Any thread.
#ifndef VOF_TOOLS_COMMON_RATE_LIMIT_H_
#define VOF_TOOLS_COMMON_RATE_LIMIT_H_

#include <cstdint>
#include <mutex>
#include <optional>

#include "core/base/time.h"

namespace vof {

class RateLimit {
 public:
  struct Options {
    uint32_t burst = 20;  // lines in one interval
    Nanoseconds interval = 10 * kNanosecondsPerSecond;
  };
  explicit RateLimit(const Options& options) : options_(options) {}

  // Nothing: this line is one too many. Otherwise how many were dropped since the last one.
  std::optional<uint64_t> Admit(MonotonicTime now) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (now >= ends_at_) {
      ends_at_ = DeadlineAfter(now, options_.interval);
      admitted_ = 0;
    }
    if (admitted_ == options_.burst) {
      ++suppressed_;
      return std::nullopt;
    }
    ++admitted_;
    const uint64_t suppressed = suppressed_;
    suppressed_ = 0;
    return suppressed;
  }

 private:
  const Options options_;
  std::mutex mutex_;
  MonotonicTime ends_at_ = 0;
  uint32_t admitted_ = 0;
  uint64_t suppressed_ = 0;
};

}  // namespace vof

#endif  // VOF_TOOLS_COMMON_RATE_LIMIT_H_
