// SPDX-License-Identifier: Apache-2.0
//
// Monotonic time as the engines see it: nanoseconds handed in with every event, never asked for.
//
//   engine.OnRead(bytes, now);                       // production: MonotonicNow() of the reactor
//   engine.OnRead(bytes, clock.now());               // simulator: a virtual clock
//   if (now >= engine.NextDeadline()) engine.OnTimer(now);
#ifndef VOF_CORE_BASE_TIME_H_
#define VOF_CORE_BASE_TIME_H_

#include <time.h>

#include <cstdint>
#include <limits>

namespace vof {

// Nanoseconds since an arbitrary point; only differences mean anything.
using MonotonicTime = int64_t;
using Nanoseconds = int64_t;

inline constexpr Nanoseconds kNanosecondsPerMillisecond = 1'000'000;
inline constexpr Nanoseconds kNanosecondsPerSecond = 1'000'000'000;
// "No deadline": later than every time that can occur.
inline constexpr MonotonicTime kInfiniteFuture = std::numeric_limits<int64_t>::max();

constexpr Nanoseconds Milliseconds(int64_t ms) { return ms * kNanosecondsPerMillisecond; }

// Adds without passing the end of time.
constexpr MonotonicTime DeadlineAfter(MonotonicTime now, Nanoseconds delay) {
  return delay >= kInfiniteFuture - now ? kInfiniteFuture : now + delay;
}

// For reactors and programs only; an engine gets `now` as an argument.
inline MonotonicTime MonotonicNow() {
  timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return ts.tv_sec * kNanosecondsPerSecond + ts.tv_nsec;
}

}  // namespace vof

#endif  // VOF_CORE_BASE_TIME_H_
