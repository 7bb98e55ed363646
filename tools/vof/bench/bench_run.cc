// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/bench/bench_run.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "tools/vof/bench/bench_worker.h"

namespace vof {
namespace {

constexpr std::chrono::milliseconds kTickInterval{100};
// A target that answers at all has done so by then.
constexpr int kSlowStopTicks = 3;

class BenchRun {
 public:
  BenchRun(BlkClient* client, const BenchOptions& options, const BenchPlan& plan,
           const BenchHooks& hooks)
      : options_(options), hooks_(hooks) {
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
    if (options_.verify && options_.access.writes() && !ends_early()) Check();
    return Collect();
  }

 private:
  using Launcher = void (*)(BenchWorker* worker, std::function<void()> on_end);

  // Runs `work` on each worker's reactor and returns when all have: nothing of it is left behind.
  void ForEach(const std::function<void(BenchWorker*)>& work) {
    size_t pending = workers_.size();
    for (const auto& worker : workers_) {
      worker->queue()->Post([this, w = worker.get(), &work, &pending] {
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

  bool ends_early() const {
    return interrupted_ || std::any_of(workers_.begin(), workers_.end(),
                                       [](const auto& worker) { return worker->found_wrong(); });
  }

  // Until `limit` has passed, all workers have ended, one has found wrong data, or the tick says
  // stop.
  void Watch(BenchPhase phase, Nanoseconds limit) {
    if (ends_early()) return;
    phase_ = phase;
    phase_since_ = MonotonicNow();
    phase_operations_ = Operations();
    std::unique_lock lock(mutex_);
    while (running_ > 0) {
      const Nanoseconds elapsed = MonotonicNow() - phase_since_;
      if (elapsed >= limit) return;
      lock.unlock();
      interrupted_ = !Tick();
      lock.lock();
      if (ends_early()) return;
      const auto left = std::chrono::nanoseconds(limit - elapsed);
      ended_.wait_for(lock, std::min<std::chrono::nanoseconds>(left, kTickInterval),
                      [&] { return running_ == 0; });
    }
  }

  bool Tick() const {
    return !hooks_.tick ||
           hooks_.tick(phase_, Operations() - phase_operations_, MonotonicNow() - phase_since_);
  }

  // An answer that does not come keeps it until it is late; an interrupt then has to be told so.
  void StopAndWait() {
    ForEach([](BenchWorker* worker) { worker->Stop(); });
    int ticks_since_interrupt = 0;
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, kTickInterval, [&] { return running_ == 0; })) {
      lock.unlock();
      if (!interrupted_) {
        interrupted_ = !Tick();
      } else if (++ticks_since_interrupt == kSlowStopTicks && hooks_.on_slow_stop) {
        TellSlowStop();
      }
      lock.lock();
    }
  }

  void TellSlowStop() {
    uint64_t in_flight = 0;
    auto so_far = std::make_unique<BenchResult>();
    std::mutex merging;  // the workers may have a thread each
    ForEach([&](BenchWorker* worker) {
      const std::lock_guard lock(merging);
      in_flight += worker->in_flight();
      so_far->Merge(*worker->ResultSoFar());
    });
    so_far->interrupted = true;
    hooks_.on_slow_stop(*so_far, in_flight);
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
  const BenchHooks& hooks_;
  std::vector<std::unique_ptr<BenchWorker>> workers_;
  bool interrupted_ = false;
  BenchPhase phase_ = BenchPhase::kWarmUp;
  MonotonicTime phase_since_ = 0;
  uint64_t phase_operations_ = 0;  // that were done before it

  std::mutex mutex_;
  std::condition_variable ended_;
  size_t running_ = 0;
};

}  // namespace

std::unique_ptr<BenchResult> RunBench(BlkClient* client, const BenchOptions& options,
                                      const BenchPlan& plan, const BenchHooks& hooks) {
  return BenchRun(client, options, plan, hooks).Run();
}

}  // namespace vof
