// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/event_log.h"

#include <spdlog/spdlog.h>

#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/quoted.h"
#include "core/base/time.h"
#include "tools/common/rate_limit.h"

namespace vof {
namespace {

constexpr RateLimit::Options kSessionLines = {.burst = 200, .interval = 10 * kNanosecondsPerSecond};
constexpr RateLimit::Options kDiskLines = {.burst = 10, .interval = 10 * kNanosecondsPerSecond};
constexpr RateLimit::Options kLimitLines = {.burst = 1, .interval = 10 * kNanosecondsPerSecond};
constexpr RateLimit::Options kListenerLines = {.burst = 1, .interval = 10 * kNanosecondsPerSecond};

// Whether somebody should look into it.
bool IsFault(EndCause end) {
  return end == EndCause::kProtocol || end == EndCause::kStalled || end == EndCause::kDevice;
}

// Whether somebody was turned away who would be served under a higher limit of the target.
bool IsAtLimit(const TargetEvent& event) {
  return event.cause == Cause::kLimit && (event.kind == TargetEventKind::kSessionRefused ||
                                          event.kind == TargetEventKind::kConnectionUnused);
}

spdlog::level::level_enum LevelOf(const TargetEvent& event) {
  if (IsAtLimit(event)) return spdlog::level::warn;
  switch (event.kind) {
    case TargetEventKind::kSessionAccepted:
    case TargetEventKind::kSessionEnded:
    case TargetEventKind::kSessionRefused:
      return spdlog::level::info;
    // The device could not open it: the initiator is told to look here.
    case TargetEventKind::kQueueRefused:
      return event.cause == Cause::kLimit ? spdlog::level::warn : spdlog::level::info;
    case TargetEventKind::kQueueHeld:
    case TargetEventKind::kResultsCopied:
      return spdlog::level::warn;
    case TargetEventKind::kQueueEnded:
      return IsFault(event.end) ? spdlog::level::info : spdlog::level::debug;
    case TargetEventKind::kQueueAccepted:
    case TargetEventKind::kConnectionUnused:
      return spdlog::level::debug;
  }
  return spdlog::level::info;
}

template <typename Counts>
uint64_t Sum(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

}  // namespace

TargetObserver MakeSessionLog() {
  // One limit for each level: what `debug` says must not hide what `info` says.
  struct Limits {
    RateLimit info{kSessionLines}, warn{kSessionLines}, debug{kSessionLines};
    RateLimit at_limit{kLimitLines};
  };
  return [limits = std::make_shared<Limits>()](const TargetEvent& event) {
    const spdlog::level::level_enum level = LevelOf(event);
    if (!spdlog::should_log(level)) return;
    RateLimit& limit = IsAtLimit(event)               ? limits->at_limit
                       : level == spdlog::level::info ? limits->info
                       : level == spdlog::level::warn ? limits->warn
                                                      : limits->debug;
    const auto suppressed = limit.Admit(MonotonicNow());
    if (!suppressed) return;
    if (*suppressed > 0) spdlog::log(level, "{} lines about sessions were left out", *suppressed);
    spdlog::log(level, "{}", DescribeTargetEvent(event));
  };
}

std::function<void(std::string_view, const StoreError&)> MakeDiskLog() {
  struct Disks {
    std::mutex mutex;
    std::map<std::string, RateLimit, std::less<>> limits;
    RateLimit& LimitOf(std::string_view device) {
      const std::lock_guard<std::mutex> lock(mutex);
      return limits.try_emplace(std::string(device), kDiskLines).first->second;
    }
  };
  return [disks = std::make_shared<Disks>()](std::string_view device, const StoreError& error) {
    const auto suppressed = disks->LimitOf(device).Admit(MonotonicNow());
    if (!suppressed) return;
    const std::string name = Quoted(device);
    if (*suppressed > 0) {
      spdlog::error("device {}: {} more errors were left out", name, *suppressed);
    }
    spdlog::error("device {}: {}", name, DescribeStoreError(error));
  };
}

void LogPlainCalls(std::string_view device, const absl::Status& why) {
  spdlog::warn("device {}: its file is served by plain calls, which hold up its reactor: {}",
               Quoted(device), std::string(why.message()));
}

std::function<void(std::string_view)> MakeListenerLog() {
  return [limit = std::make_shared<RateLimit>(kListenerLines)](std::string_view line) {
    // What was left out said the same.
    if (limit->Admit(MonotonicNow())) spdlog::warn("{}", line);
  };
}

void LogSummary(const TargetCounters& counters) {
  std::string ends;
  for (size_t i = 0; i < kNumEndCauses; ++i) {
    if (counters.sessions_ended[i] == 0) continue;
    absl::StrAppend(&ends, ends.empty() ? " (" : ", ", counters.sessions_ended[i], " ",
                    std::string(EndCauseName(static_cast<EndCause>(i))));
  }
  if (!ends.empty()) ends += ")";
  spdlog::info(
      "{} sessions accepted, {} refused, {} ended{}; {} virtqueues, {} refused; {} requests, {} "
      "of them without an answer of the device, {} bytes in, {} bytes out",
      counters.sessions_accepted, Sum(counters.sessions_refused), Sum(counters.sessions_ended),
      ends, counters.queues_accepted, Sum(counters.queues_refused), counters.io.requests,
      counters.io.failed, counters.io.out_bytes, counters.io.in_bytes);
}

}  // namespace vof
