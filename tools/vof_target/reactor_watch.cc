// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/reactor_watch.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace vof {
namespace {

constexpr Nanoseconds kLongestInterval = 5 * kNanosecondsPerSecond;
// A busy machine may take the processor away for a few of them.
constexpr Nanoseconds kIntervals = 12;
constexpr Nanoseconds kWorthALine = 10 * kNanosecondsPerSecond;

// Whole milliseconds, which the log can show.
Nanoseconds IntervalOf(Nanoseconds timeout) {
  constexpr Nanoseconds kUnit = kNanosecondsPerMillisecond;
  const Nanoseconds share = (timeout / kIntervals + kUnit - 1) / kUnit * kUnit;
  return std::clamp(share, kUnit, kLongestInterval);
}

}  // namespace

ReactorJudge::ReactorJudge(Nanoseconds timeout)
    : timeout_(timeout), interval_(timeout == 0 ? kLongestInterval : IntervalOf(timeout)) {}

Nanoseconds ReactorJudge::TimeOf(const ReactorPulse::Answer& slowest) const {
  const auto time = static_cast<Nanoseconds>(slowest.unanswered) * interval_;
  return timeout_ == 0 ? time : std::min(time, timeout_);
}

std::optional<ReactorEvent> ReactorJudge::Judge(const ReactorPulse::Answer& slowest) {
  if (timeout_ != 0 && TimeOf(slowest) >= timeout_) return ReactorEvent::kHangsOut;
  if (TimeOf(slowest) < kWorthALine) {
    // One question that is out says neither that it hangs nor that it goes on.
    if (!is_told_ || slowest.unanswered > 0) return std::nullopt;
    is_told_ = false;
    return ReactorEvent::kGoesOn;
  }
  if (std::exchange(is_told_, true)) return std::nullopt;
  return ReactorEvent::kHangs;
}

ReactorWatch::ReactorWatch(Options options) : options_(std::move(options)) {
  thread_ = std::thread([this] { Run(); });
}

ReactorWatch::~ReactorWatch() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void ReactorWatch::Run() {
  ReactorJudge judge(options_.timeout);
  const std::chrono::nanoseconds interval(judge.interval());
  std::unique_lock<std::mutex> lock(mutex_);
  while (!changed_.wait_for(lock, interval, [this] { return ends_; })) {
    const ReactorPulse::Answer slowest = options_.ask();
    const std::optional<ReactorEvent> event = judge.Judge(slowest);
    if (!event.has_value()) continue;
    options_.on_event({*event, slowest.reactor, judge.TimeOf(slowest)});
  }
}

}  // namespace vof
