// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/transfer/workers.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"

namespace vof {
namespace {

constexpr std::chrono::milliseconds kTickInterval{200};

// What the workers and their caller share.
struct Shared {
  std::mutex mutex;
  std::condition_variable changed;
  int running = 0;
  absl::Status first_error;
};

}  // namespace

absl::Status RunWorkers(int num_threads, const std::function<absl::Status()>& work,
                        const WorkerControl& control) {
  Shared shared;
  shared.running = num_threads;
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(num_threads));
  for (int i = 0; i < num_threads; ++i) {
    threads.emplace_back([&] {
      const absl::Status result = work();
      std::unique_lock lock(shared.mutex);
      if (!result.ok() && shared.first_error.ok()) {
        // Kept before the others are stopped: they will fail with less to say.
        shared.first_error = result;
        lock.unlock();
        control.stop();
        lock.lock();
      }
      --shared.running;
      shared.changed.notify_all();
    });
  }
  bool stopped = false;
  int ticks_since_stop = 0;
  std::unique_lock lock(shared.mutex);
  while (!shared.changed.wait_for(lock, kTickInterval, [&] { return shared.running == 0; })) {
    const int num_running = shared.running;
    const bool failed = !shared.first_error.ok();
    lock.unlock();
    if (stopped && ++ticks_since_stop == 1 && control.on_slow_stop) {
      control.on_slow_stop(num_running);
    }
    if (!stopped && control.tick && !control.tick()) {
      stopped = !failed;  // else it has stopped already, for a better reason
      control.stop();
    }
    lock.lock();
  }
  lock.unlock();
  for (std::thread& thread : threads) thread.join();
  if (!stopped) return shared.first_error;
  // Cancelled is what the stop makes of a worker.
  const bool failed = !shared.first_error.ok() && !absl::IsCancelled(shared.first_error);
  return absl::CancelledError(absl::StrCat(
      "interrupted", failed ? absl::StrCat("; meanwhile: ", shared.first_error.message()) : ""));
}

}  // namespace vof
