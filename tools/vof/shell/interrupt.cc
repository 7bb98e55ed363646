// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/shell/interrupt.h"

#include <unistd.h>

#include <atomic>

#include "tools/common/exit_code.h"

namespace vof {
namespace {

// A signal handler has no other way to say something.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
constinit std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void OnSignal(int) {
  if (interrupted.exchange(true, std::memory_order_relaxed)) _exit(ToInt(ExitCode::kFailed));
}

}  // namespace

InterruptWatch::InterruptWatch() {
  interrupted = false;
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &previous_interrupt_);
  sigaction(SIGTERM, &action, &previous_terminate_);
}

InterruptWatch::~InterruptWatch() {
  sigaction(SIGINT, &previous_interrupt_, nullptr);
  sigaction(SIGTERM, &previous_terminate_, nullptr);
}

bool InterruptWatch::requested() const { return interrupted.load(std::memory_order_relaxed); }

}  // namespace vof
