// SPDX-License-Identifier: Apache-2.0
//
// What a benchmark found, and how it is told.
//
//   BenchResult result;                 // one per queue
//   total.Merge(result);
//   output.Result(BenchJson(options, total), BenchText(options, total));
#ifndef VOF_TOOLS_VOF_BENCH_BENCH_RESULT_H_
#define VOF_TOOLS_VOF_BENCH_BENCH_RESULT_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/time.h"
#include "tools/vof/bench/bench_options.h"
#include "tools/vof/bench/latency_histogram.h"

namespace vof {

struct BenchResult {
  // Samples of what went wrong that are kept, of each queue and in all.
  static constexpr size_t kMaxSamples = 8;

  LatencyHistogram reads;
  LatencyHistogram writes;
  uint64_t errors = 0;
  uint64_t checked_blocks = 0;  // with --verify
  uint64_t mismatches = 0;
  std::vector<std::string> error_samples;
  std::vector<std::string> mismatch_samples;
  Nanoseconds elapsed = 0;  // that was counted: the longest of the queues
  bool interrupted = false;

  uint64_t operations() const { return reads.count() + writes.count(); }
  void Merge(const BenchResult& other);
};

std::string BenchText(const BenchOptions& options, const BenchResult& result);
nlohmann::ordered_json BenchJson(const BenchOptions& options, const BenchResult& result);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_BENCH_BENCH_RESULT_H_
