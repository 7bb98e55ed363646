// SPDX-License-Identifier: Apache-2.0
//
// SIGINT and SIGTERM: what a verb can end in good order it is asked to, anything else is ended.
//
//   Interrupts interrupts([&] { ... });              // main(), before the first thread
//   ...
//   const InterruptWatch watch(&interrupts);         // a verb, around what it can stop by itself
//   while (!watch.requested()) ...
//
// A signal while no watch is there (connecting, or waiting for one answer), and the second one in
// any case, calls `end`: nobody has to wait for a target that does not answer. Signals that come
// together are one (kSameSignal). `end` runs on a thread of its own, not in a signal
// handler, so it may lock and print; it does not return unless the program is about to end anyway.
#ifndef VOF_TOOLS_VOF_SHELL_INTERRUPT_H_
#define VOF_TOOLS_VOF_SHELL_INTERRUPT_H_

#include <signal.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "core/base/time.h"

namespace vof {

// One per process. Threads that are started later inherit what it holds back, and that stays held
// back when it is gone: who has done its work ends by itself.
class Interrupts {
 public:
  explicit Interrupts(std::function<void()> end);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

 private:
  friend class InterruptWatch;

  void Serve();
  void OnSignal();

  const std::function<void()> end_;
  sigset_t signals_;
  std::atomic<bool> leaving_ = false;
  std::mutex mutex_;
  bool is_watched_ = false;
  bool has_ended_ = false;
  std::optional<MonotonicTime> counted_at_;  // the last signal that was not the same one
  std::atomic<bool> requested_ = false;
  std::thread thread_;
};

// One at a time.
class InterruptWatch {
 public:
  explicit InterruptWatch(Interrupts* interrupts);
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  // Any thread.
  bool requested() const;

 private:
  Interrupts* const interrupts_;
};

}  // namespace vof

#endif  // VOF_TOOLS_VOF_SHELL_INTERRUPT_H_
