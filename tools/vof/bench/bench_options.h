// SPDX-License-Identifier: Apache-2.0
//
// What `vof bench` is asked to do, checked against what the device is.
//
//   BenchOptions options{.uri = "tcp://host/disk0", .access = *ParseAccess("randread")};
//   absl::StatusOr<BenchPlan> plan = PlanBench(options, {.capacity_bytes = ..., .block_bytes = 512,
//   ...});
//
// Pure; any thread.
#ifndef VOF_TOOLS_VOF_BENCH_BENCH_OPTIONS_H_
#define VOF_TOOLS_VOF_BENCH_BENCH_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/time.h"

namespace vof {

struct AccessPattern {
  bool random = false;
  int read_percent = 100;

  bool writes() const { return read_percent < 100; }
};
inline constexpr int kDefaultMixPercent = 70;
// `name`: read, write, randread, randwrite, rw, randrw; `mix_percent` of reads in the last two, and
// wrong usage with the others.
absl::StatusOr<AccessPattern> ParseAccess(std::string_view name,
                                          std::optional<int> mix_percent = {});
std::string_view AccessName(const AccessPattern& access);

struct BenchOptions {
  std::string uri;
  AccessPattern access;
  uint64_t block_bytes = 4096;
  uint64_t depth = 32;  // of each queue
  uint64_t queues = 1;
  uint64_t queue_size = 0;  // of the smallest virtqueue once it is open; before, 0
  Nanoseconds time = 10 * kNanosecondsPerSecond;
  std::optional<uint64_t> operations = {};  // of all queues; then `time` is only a limit
  std::optional<uint64_t> span_bytes = {};  // the part of the device that is used, from its start
  Nanoseconds warmup = 0;                   // before it, nothing is counted
  uint64_t seed = 1;
  bool verify = false;
  std::vector<uint32_t> cpus = {};
  bool busy_poll = false;
  Nanoseconds spin = 0;
};

// Buffers of one queue: all its requests in flight.
inline constexpr uint64_t kMaxBenchBufferBytes = 1u << 30;

// Of the device, as far as a benchmark has to know it.
struct BenchDevice {
  uint64_t capacity_bytes = 0;
  uint32_t block_bytes = 512;
  uint64_t max_request_bytes = 0;
  bool read_only = false;
};

// What each queue does: `blocks_per_queue` blocks of its own when verifying (nobody else may change
// what is checked) or when in sequence, else all of the span.
struct BenchPlan {
  uint64_t num_blocks = 0;  // of the span
  uint64_t blocks_per_queue = 0;
  bool partitioned = false;

  uint64_t FirstBlock(uint64_t queue) const { return partitioned ? queue * blocks_per_queue : 0; }
};

// kInvalidArgument names the option, its value and the limit; kUnimplemented: writes to a read-only
// device.
absl::StatusOr<BenchPlan> PlanBench(const BenchOptions& options, const BenchDevice& device);

// What to tell when virtqueues hold fewer requests than the depth asks for; empty when they do not.
std::string DepthNote(const BenchOptions& options);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_BENCH_BENCH_OPTIONS_H_
