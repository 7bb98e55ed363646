// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/process.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "tools/common/exit_code.h"

namespace vof {

StopSignals::StopSignals() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGTERM);
  sigaddset(&signals_, SIGINT);
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
  action.sa_handler = [](int) { _exit(ToInt(ExitCode::kFailed)); };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
}

void IgnoreBrokenPipes() { signal(SIGPIPE, SIG_IGN); }

uint64_t RaiseDescriptorLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_max : before;
}

}  // namespace vof
