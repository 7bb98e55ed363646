// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/transfer/workers.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

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
  std::unique_lock lock(shared.mutex);
  while (!shared.changed.wait_for(lock, kTickInterval, [&] { return shared.running == 0; })) {
    lock.unlock();
    if (!stopped && control.tick && !control.tick()) {
      stopped = true;
      control.stop();
    }
    lock.lock();
  }
  lock.unlock();
  for (std::thread& thread : threads) thread.join();
  if (shared.first_error.ok() && stopped) return absl::CancelledError("interrupted");
  return shared.first_error;
}

}  // namespace vof
