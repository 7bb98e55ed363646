// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/bench/bench_run.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "tools/vof/bench/bench_worker.h"

namespace vof {
namespace {

constexpr std::chrono::milliseconds kTickInterval{100};

class BenchRun {
 public:
  BenchRun(BlkClient* client, const BenchOptions& options, const BenchPlan& plan,
           const BenchTick& tick)
      : options_(options), tick_(tick) {
    for (uint64_t i = 0; i < options.queues; ++i) {
      workers_.push_back(std::make_unique<BenchWorker>(&client->queue(i), options, plan, i));
    }
  }

  std::unique_ptr<BenchResult> Run() {
    Launch([](BenchWorker* worker, std::function<void()> on_end) {
      worker->Start(std::move(on_end));
    });
    if (options_.warmup > 0) {
      Watch(BenchPhase::kWarmUp, options_.warmup);
      ForEach([](BenchWorker* worker) { worker->BeginMeasuring(); });
    }
    Watch(BenchPhase::kMeasure, options_.time);
    StopAndWait();
    if (options_.verify && options_.access.writes() && !interrupted_) Check();
    return Collect();
  }

 private:
  using Launcher = void (*)(BenchWorker* worker, std::function<void()> on_end);

  // Runs `work` on each worker's reactor and returns when all have: nothing of it is left behind.
  void ForEach(void (*work)(BenchWorker*)) {
    size_t pending = workers_.size();
    for (const auto& worker : workers_) {
      worker->queue()->Post([this, w = worker.get(), work, &pending] {
        work(w);
        const std::lock_guard lock(mutex_);
        --pending;
        ended_.notify_all();
      });
    }
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return pending == 0; });
  }

  void Launch(Launcher launch) {
    {
      const std::lock_guard lock(mutex_);
      running_ = workers_.size();
    }
    for (const auto& worker : workers_) {
      worker->queue()->Post([this, w = worker.get(), launch] {
        launch(w, [this] {
          // Under the lock: after it, the waiting thread may destroy this object.
          const std::lock_guard lock(mutex_);
          --running_;
          ended_.notify_all();
        });
      });
    }
  }

  // Until `limit` has passed, all workers have ended, or the tick says stop.
  void Watch(BenchPhase phase, Nanoseconds limit) {
    if (interrupted_) return;
    const MonotonicTime started = MonotonicNow();
    const uint64_t before = Operations();
    std::unique_lock lock(mutex_);
    while (running_ > 0) {
      const Nanoseconds elapsed = MonotonicNow() - started;
      if (elapsed >= limit) return;
      lock.unlock();
      interrupted_ = tick_ && !tick_(phase, Operations() - before, elapsed);
      lock.lock();
      if (interrupted_) return;
      const auto left = std::chrono::nanoseconds(limit - elapsed);
      ended_.wait_for(lock, std::min<std::chrono::nanoseconds>(left, kTickInterval),
                      [&] { return running_ == 0; });
    }
  }

  void StopAndWait() {
    ForEach([](BenchWorker* worker) { worker->Stop(); });
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return running_ == 0; });
  }

  void Check() {
    Launch([](BenchWorker* worker, std::function<void()> on_end) {
      worker->StartChecking(std::move(on_end));
    });
    Watch(BenchPhase::kCheck, kInfiniteFuture);
    StopAndWait();
  }

  uint64_t Operations() const {
    uint64_t sum = 0;
    for (const auto& worker : workers_) sum += worker->operations();
    return sum;
  }

  std::unique_ptr<BenchResult> Collect() const {
    auto total = std::make_unique<BenchResult>();
    for (const auto& worker : workers_) total->Merge(worker->result());
    total->interrupted = interrupted_;
    return total;
  }

  const BenchOptions& options_;
  const BenchTick& tick_;
  std::vector<std::unique_ptr<BenchWorker>> workers_;
  bool interrupted_ = false;

  std::mutex mutex_;
  std::condition_variable ended_;
  size_t running_ = 0;
};

}  // namespace

std::unique_ptr<BenchResult> RunBench(BlkClient* client, const BenchOptions& options,
                                      const BenchPlan& plan, const BenchTick& tick) {
  return BenchRun(client, options, plan, tick).Run();
}

}  // namespace vof
