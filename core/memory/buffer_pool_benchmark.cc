// SPDX-License-Identifier: Apache-2.0
//
// What a request pays for its payload memory: one buffer taken and returned.
#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/limits.h"
#include "core/memory/buffer_pool.h"

namespace vof {
namespace {

// One request after the other: the same buffer again and again.
void BM_OneAtATime(benchmark::State& state) {
  BufferPool pool(kDefaultPoolBytes);
  const auto size_bytes = static_cast<size_t>(state.range(0));
  for (auto _ : state) {
    PoolBuffer buffer = pool.Allocate(size_bytes);
    benchmark::DoNotOptimize(buffer.data());
  }
}
BENCHMARK(BM_OneAtATime)->Arg(4096)->Arg(128 << 10);

// A queue of `depth` requests that all come back: beyond the cache of a class blocks merge.
void BM_Depth(benchmark::State& state) {
  BufferPool pool(kDefaultPoolBytes);
  std::array<PoolBuffer, 512> held;
  const auto depth = static_cast<size_t>(state.range(0));
  for (auto _ : state) {
    for (size_t i = 0; i < depth; ++i) held[i] = pool.Allocate(4096);
    for (size_t i = 0; i < depth; ++i) held[i].Release();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Depth)->Arg(32)->Arg(128)->Arg(512);

// Requests of 512 B to 1 MiB in any order, 64 in flight.
void BM_MixedSizes(benchmark::State& state) {
  BufferPool pool(kDefaultPoolBytes);
  std::array<PoolBuffer, 64> held;
  uint32_t random = 1;
  for (auto _ : state) {
    random = random * 1664525 + 1013904223;
    PoolBuffer& buffer = held[random >> 26];
    buffer.Release();
    buffer = pool.Allocate(size_t{512} << (random >> 8) % 12);
    benchmark::DoNotOptimize(buffer.data());
  }
}
BENCHMARK(BM_MixedSizes);

}  // namespace
}  // namespace vof
