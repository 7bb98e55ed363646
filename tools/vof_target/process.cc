// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/process.h"

#include <sys/resource.h>
#include <unistd.h>

#include "tools/common/exit_code.h"

namespace vof {

StopSignals::StopSignals() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGTERM);
  sigaddset(&signals_, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
}

int StopSignals::Wait() {
  int signal = 0;
  // Fails only for a set that names no signal.
  sigwait(&signals_, &signal);
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
