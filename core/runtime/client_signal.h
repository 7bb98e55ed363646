// SPDX-License-Identifier: Apache-2.0
//
// How reactors tell a thread that waits for them: one mutex and one condition for all of a client's
// state.
//
//   signal.Change([&] { connected_ = true; });                                   // a reactor
//   bool ok = signal.WaitUntil(deadline, [&] { return connected_; });            // the waiter
//
// A change runs under the mutex, a predicate does not: it may call whatever reads. Control path
// only.
#ifndef VOF_CORE_RUNTIME_CLIENT_SIGNAL_H_
#define VOF_CORE_RUNTIME_CLIENT_SIGNAL_H_

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "core/base/time.h"

namespace vof {

class ClientSignal {
 public:
  template <typename Function>
  void Change(Function change) {
    const std::lock_guard<std::mutex> lock(mutex_);
    change();
    ++version_;
    changed_.notify_all();
  }
  template <typename Function>
  auto Read(Function read) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return read();
  }
  // False: `deadline` passed first.
  template <typename Predicate>
  bool WaitUntil(MonotonicTime deadline, Predicate predicate) {
    while (true) {
      const uint64_t seen = Read([&] { return version_; });
      if (predicate()) return true;
      const MonotonicTime now = MonotonicNow();
      if (now >= deadline) return false;
      // In steps: a deadline without end would overflow the clock of the condition.
      const Nanoseconds step = std::min<Nanoseconds>(deadline - now, 3600 * kNanosecondsPerSecond);
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait_for(lock, std::chrono::nanoseconds(step), [&] { return version_ != seen; });
    }
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t version_ = 0;
};

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_CLIENT_SIGNAL_H_
