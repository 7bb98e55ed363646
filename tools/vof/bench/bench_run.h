// SPDX-License-Identifier: Apache-2.0
//
// A whole benchmark: warm up, measure, stop, check; over all queues of a client.
//
//   std::unique_ptr<BenchResult> result = RunBench(client, options, plan, {.tick = tick});
#ifndef VOF_TOOLS_VOF_BENCH_BENCH_RUN_H_
#define VOF_TOOLS_VOF_BENCH_BENCH_RUN_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "core/base/time.h"
#include "devices/blk/client/blk_client.h"
#include "tools/vof/bench/bench_options.h"
#include "tools/vof/bench/bench_result.h"

namespace vof {

enum class BenchPhase : uint8_t { kWarmUp, kMeasure, kCheck };

// Called every 100 ms on the caller's thread, with the operations completed since the phase began.
// False stops the benchmark; what was measured by then is its result.
using BenchTick = std::function<bool(BenchPhase phase, uint64_t operations, Nanoseconds elapsed)>;

struct BenchHooks {
  BenchTick tick = {};  // may be empty
  // After `tick` stopped it: so many requests are not answered yet, and are waited for; these are
  // the figures without them. Once, on the caller's thread; may be empty.
  std::function<void(const BenchResult& so_far, uint64_t num_requests)> on_slow_stop = {};
};

// Blocks; not on a reactor's thread. `options.queues` is what the client has. The first histogram
// alone is 36 KiB, hence the pointer. Failed operations are counted in the result, not an error of
// the call. The first wrong block of --verify ends it; what is in flight then is still checked.
std::unique_ptr<BenchResult> RunBench(BlkClient* client, const BenchOptions& options,
                                      const BenchPlan& plan, const BenchHooks& hooks);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_BENCH_BENCH_RUN_H_
