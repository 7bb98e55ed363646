// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/process.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <string_view>

#include "tools/common/exit_code.h"
#include "tools/common/same_signal.h"
#include "tools/common/standard_error.h"

namespace vof {
namespace {

// For a signal handler, which is given nothing else.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<MonotonicTime> first_signal_at{0};
static_assert(std::atomic<MonotonicTime>::is_always_lock_free);

bool IsIgnored(int signal) {
  struct sigaction action = {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

StopSignals::StopSignals() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGTERM);
  sigaddset(&signals_, SIGINT);
  // The terminal was closed. `nohup` has it ignored.
  if (!IsIgnored(SIGHUP)) sigaddset(&signals_, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
}

std::optional<int> StopSignals::WaitFor(Nanoseconds limit) {
  const timespec time = {.tv_sec = limit / kNanosecondsPerSecond,
                         .tv_nsec = limit % kNanosecondsPerSecond};
  const int signal = sigtimedwait(&signals_, nullptr, &time);
  // No time left, or interrupted by another signal: the caller comes back.
  if (signal < 0) return std::nullopt;
  return signal;
}

void StopSignals::ExitAtOnceOnTheNext() {
  struct sigaction action = {};
  first_signal_at = MonotonicNow();
  action.sa_handler = [](int) {
    if (MonotonicNow() - first_signal_at < kSameSignal) return;
    constexpr std::string_view kText = "ended by a second signal, before all was drained\n";
    // Which does not wait for a reader: at once is at once.
    (void)StandardError({.may_start_thread = false}).Write(kText);
    _exit(ToInt(ExitCode::kFailed));
  };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  // Not SIGHUP: the kernel and the shell both send it when a terminal is closed.
  sigset_t ending = signals_;
  sigdelset(&ending, SIGHUP);
  pthread_sigmask(SIG_UNBLOCK, &ending, nullptr);
}

void StopSignals::IgnoreFurther() { pthread_sigmask(SIG_BLOCK, &signals_, nullptr); }

uint64_t RaiseDescriptorLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_max : before;
}

}  // namespace vof
