// SPDX-License-Identifier: Apache-2.0
//
// Which operation a benchmark does next: reads and writes in a given mix, in order or at random
// places.
//
//   Workload workload({.random = true, .read_percent = 70, .num_blocks = 1 << 16, .seed = 7});
//   const Operation next = workload.Next();       // next.block, next.is_write
//
// The same options give the same operations on every machine. One owner.
#ifndef VOF_TOOLS_VOF_BENCH_WORKLOAD_H_
#define VOF_TOOLS_VOF_BENCH_WORKLOAD_H_

#include <cstdint>

namespace vof {

// A seeded generator (SplitMix64), a few instructions per number.
class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  // Uniform in [0, bound); bound > 0. The bias is below bound / 2^64.
  uint64_t Below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Next()) * bound) >> 64);
  }

 private:
  uint64_t state_;
};

struct WorkloadOptions {
  bool random = false;
  int read_percent = 100;
  uint64_t num_blocks = 1;  // > 0; blocks are numbered from 0
  uint64_t seed = 1;
};

struct Operation {
  uint64_t block = 0;
  bool is_write = false;
};

class Workload {
 public:
  explicit Workload(const WorkloadOptions& options) : options_(options), random_(options.seed) {}

  Operation Next() { return {NextBlock(), NextIsWrite()}; }

 private:
  uint64_t NextBlock() {
    if (options_.random) return random_.Below(options_.num_blocks);
    const uint64_t block = next_block_++;
    if (next_block_ == options_.num_blocks) next_block_ = 0;
    return block;
  }
  bool NextIsWrite() {
    if (options_.read_percent == 100) return false;
    if (options_.read_percent == 0) return true;
    return random_.Below(100) >= static_cast<uint64_t>(options_.read_percent);
  }

  WorkloadOptions options_;
  SplitMix64 random_;
  uint64_t next_block_ = 0;
};

}  // namespace vof

#endif  // VOF_TOOLS_VOF_BENCH_WORKLOAD_H_
