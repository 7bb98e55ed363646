// SPDX-License-Identifier: Apache-2.0
//
// The benchmark of one queue, on its reactor: every completion submits the next operation at once.
//
//   BenchWorker worker(&client->queue(0), options, plan, /*index=*/0);
//   worker.Start([] { ... });            // called on the reactor when Stop() or the operations end
//   it
//   ... worker.BeginMeasuring(); ... worker.Stop(); ...
//   worker.StartChecking([] { ... });    // with --verify: reads everything that was written
//   worker.result()
//
// Start, BeginMeasuring, Stop and StartChecking are called on the reactor's thread, result() when
// nothing runs. Nothing allocates between Start and its end.
#ifndef VOF_TOOLS_VOF_BENCH_BENCH_WORKER_H_
#define VOF_TOOLS_VOF_BENCH_BENCH_WORKER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/time.h"
#include "devices/blk/client/blk_client_queue.h"
#include "devices/blk/client/blk_io.h"
#include "tools/vof/bench/bench_options.h"
#include "tools/vof/bench/bench_result.h"
#include "tools/vof/bench/verify_ledger.h"
#include "tools/vof/bench/workload.h"

namespace vof {

class BenchWorker {
 public:
  BenchWorker(BlkClientQueue* queue, const BenchOptions& options, const BenchPlan& plan,
              uint64_t index);
  ~BenchWorker();  // nothing in flight
  BenchWorker(const BenchWorker&) = delete;
  BenchWorker& operator=(const BenchWorker&) = delete;

  void Start(std::function<void()> on_end);
  // Forgets what was counted so far.
  void BeginMeasuring();
  // No new operations; `on_end` comes when those in flight have ended.
  void Stop();
  void StartChecking(std::function<void()> on_end);

  BlkClientQueue* queue() const { return queue_; }
  // Completed since Start, for progress. Any thread.
  uint64_t operations() const { return operations_.load(std::memory_order_relaxed); }
  // With --verify: a block held wrong data, which has stopped this worker. Any thread.
  bool found_wrong() const { return found_wrong_.load(std::memory_order_relaxed); }
  const BenchResult& result() const { return result_; }
  // While it runs, on the reactor's thread: what was counted by now, and the operations that are
  // not answered yet.
  std::unique_ptr<BenchResult> ResultSoFar() const;
  uint64_t in_flight() const { return in_flight_; }

 private:
  enum class Phase : uint8_t { kIdle, kLoad, kCheck };
  struct Slot {
    BlkIo io;
    BenchWorker* worker = nullptr;
    std::span<std::byte> data;
    Operation operation;
    MonotonicTime started = 0;
    bool is_measured = false;  // submitted after the warm-up
  };

  static void OnDone(BlkIo* io);
  void Begin(Phase phase, std::function<void()> on_end);
  void Finish(Slot* slot);
  // The slot's next operation, or its end.
  void Advance(Slot* slot, MonotonicTime now);
  bool Choose(Slot* slot);
  bool ChooseForCheck(Slot* slot);
  void Submit(Slot* slot, MonotonicTime now);
  void EndIfIdle();

  void Count(const Slot& slot, MonotonicTime now);
  void CountError(const Slot& slot);
  void Check(const Slot& slot);
  void Release(const Slot& slot);
  uint64_t OffsetOf(uint64_t block) const { return (first_block_ + block) * options_.block_bytes; }

  BlkClientQueue* const queue_;
  const BenchOptions options_;
  const uint64_t first_block_;
  const uint64_t num_blocks_;
  const uint64_t operations_limit_;

  Workload workload_;
  std::optional<VerifyLedger> ledger_;
  std::byte* memory_ = nullptr;  // page-aligned, of all slots
  std::vector<Slot> slots_;

  Phase phase_ = Phase::kIdle;
  std::function<void()> on_end_;
  bool stopping_ = false;
  bool measuring_ = false;  // past the warm-up
  uint64_t in_flight_ = 0;
  uint64_t submitted_ = 0;   // since BeginMeasuring
  uint64_t next_check_ = 0;  // block
  MonotonicTime measuring_since_ = 0;
  std::atomic<uint64_t> operations_{0};
  std::atomic<bool> found_wrong_{false};
  BenchResult result_;
};

}  // namespace vof

#endif  // VOF_TOOLS_VOF_BENCH_BENCH_WORKER_H_
