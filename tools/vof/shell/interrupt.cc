// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/shell/interrupt.h"

#include <pthread.h>
#include <unistd.h>

#include <utility>

#include "tools/common/exit_code.h"
#include "tools/common/same_signal.h"

namespace vof {

Interrupts::Interrupts(std::function<void()> end) : end_(std::move(end)) {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  thread_ = std::thread([this] { Serve(); });
}

Interrupts::~Interrupts() {
  leaving_ = true;
  pthread_kill(thread_.native_handle(), SIGINT);  // wakes it
  thread_.join();
}

void Interrupts::Serve() {
  int signal = 0;
  while (sigwait(&signals_, &signal) == 0 && !leaving_) OnSignal();
}

void Interrupts::OnSignal() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const MonotonicTime now = MonotonicNow();
    if (counted_at_ && now - *counted_at_ < kSameSignal) return;
    counted_at_ = now;
    if (is_watched_ && !requested_.exchange(true)) return;
    // It was on its way out already, and that takes long: the reader of its output may stand still.
    if (std::exchange(has_ended_, true)) _exit(ToInt(ExitCode::kFailed));
  }
  end_();
}

InterruptWatch::InterruptWatch(Interrupts* interrupts) : interrupts_(interrupts) {
  const std::lock_guard<std::mutex> lock(interrupts_->mutex_);
  interrupts_->is_watched_ = true;
}

InterruptWatch::~InterruptWatch() {
  const std::lock_guard<std::mutex> lock(interrupts_->mutex_);
  interrupts_->is_watched_ = false;
}

bool InterruptWatch::requested() const {
  return interrupts_->requested_.load(std::memory_order_relaxed);
}

}  // namespace vof
