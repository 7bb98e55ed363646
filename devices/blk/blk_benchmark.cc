// SPDX-License-Identifier: Apache-2.0
//
// What a request costs inside the block device, without engine and transport: parse, execute,
// answer.
#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "benchmark/benchmark.h"
#include "devices/blk/blk_device.h"
#include "devices/blk/store_file.h"
#include "devices/blk/store_memory.h"
#include "devices/blk/store_null.h"
#include "devices/blk/testing/temp_file.h"

namespace vof {
namespace {

constexpr uint64_t kDiskBytes = 256u << 20;
constexpr size_t kDataBytes = 4096;
constexpr size_t kResultStride = kDataBytes + 64;
constexpr size_t kNumSectorChoices = 1u << 16;

class CountingSink final : public CompletionSink {
 public:
  void OnComplete(DeviceRequest* request) override {
    used_bytes += request->used_length();
    ++completed;
  }
  uint64_t used_bytes = 0;
  size_t completed = 0;
};

// A batch as an engine would build it: header and data in one piece of a receive buffer.
struct Batch {
  Batch(size_t depth, bool is_write) : requests(depth), pointers(depth), readable(depth) {
    const size_t readable_bytes = sizeof(BlkRequestHeader) + (is_write ? kDataBytes : 0);
    memory.resize(depth * readable_bytes, std::byte{0x5a});
    results.resize(depth * kResultStride);
    for (size_t i = 0; i < depth; ++i) {
      pointers[i] = &requests[i];
      writable.emplace_back(results.data() + i * kResultStride, is_write ? 1 : kDataBytes + 1);
      readable[i] = ConstBuffer(memory.data() + i * readable_bytes, readable_bytes);
    }
    std::mt19937_64 random(1);
    sectors.resize(kNumSectorChoices);
    for (uint64_t& s : sectors)
      s = random() % (kDiskBytes / kDataBytes) * (kDataBytes / kSectorBytes);
  }

  void Run(DeviceQueue* queue, CountingSink* sink, bool is_write) {
    const bool lends = queue->traits().lends_results;
    for (size_t i = 0; i < requests.size(); ++i) {
      BlkRequestHeader header;
      header.type = is_write ? kBlkTypeOut : kBlkTypeIn;
      header.sector = sectors[next++ % kNumSectorChoices];
      std::memcpy(const_cast<std::byte*>(readable[i].data), &header, sizeof(header));
      DeviceRequest& request = requests[i];
      request.Reset(sink);
      request.readable = {&readable[i], 1};
      request.readable_bytes = static_cast<uint32_t>(readable[i].size_bytes);
      if (!lends) request.writable = {&writable[i], 1};
      request.writable_bytes = static_cast<uint32_t>(writable[i].size_bytes);
    }
    sink->completed = 0;
    queue->Submit(pointers);
    while (sink->completed < requests.size()) queue->Poll();
  }

  std::vector<DeviceRequest> requests;
  std::vector<DeviceRequest*> pointers;
  std::vector<ConstBuffer> readable;
  std::vector<std::byte> memory;
  std::vector<MutableBuffer> writable;
  std::vector<std::byte> results;
  std::vector<uint64_t> sectors;
  size_t next = 0;
};

void Run(benchmark::State& state, std::shared_ptr<BlockStore> store, bool is_write) {
  auto device = *MakeBlkDevice({}, std::move(store));
  auto queue = *device->OpenQueue(0);
  queue->Activate(device->features());
  CountingSink sink;
  Batch batch(static_cast<size_t>(state.range(0)), is_write);
  // Every block once: what is measured is not the first touch of the disk's memory.
  for (size_t i = 0; i < kNumSectorChoices; i += batch.requests.size()) {
    batch.Run(queue.get(), &sink, is_write);
  }
  for (auto _ : state) batch.Run(queue.get(), &sink, is_write);
  benchmark::DoNotOptimize(sink.used_bytes);
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void BM_MemoryRead4k(benchmark::State& state) {
  Run(state, *MakeMemoryStore({.size_bytes = kDiskBytes}), false);
}
void BM_MemoryWrite4k(benchmark::State& state) {
  Run(state, *MakeMemoryStore({.size_bytes = kDiskBytes}), true);
}
void BM_MemoryWrite4kSmallPages(benchmark::State& state) {
  Run(state, *MakeMemoryStore({.size_bytes = kDiskBytes, .huge_pages = HugePages::kOff}), true);
}
void BM_NullRead4k(benchmark::State& state) { Run(state, *MakeNullStore(kDiskBytes), false); }
void BM_NullWrite4k(benchmark::State& state) { Run(state, *MakeNullStore(kDiskBytes), true); }

void RunFile(benchmark::State& state, bool is_write) {
  const TempFile image("/dev/shm");
  auto store = MakeFileStore({.path = image.path(), .create_size_bytes = kDiskBytes});
  if (!store.ok()) {
    state.SkipWithError(store.status().ToString().c_str());
    return;
  }
  Run(state, *store, is_write);
}
void BM_TmpfsRead4k(benchmark::State& state) { RunFile(state, false); }
void BM_TmpfsWrite4k(benchmark::State& state) { RunFile(state, true); }

BENCHMARK(BM_MemoryRead4k)->Arg(1)->Arg(32);
BENCHMARK(BM_MemoryWrite4k)->Arg(1)->Arg(32);
BENCHMARK(BM_MemoryWrite4kSmallPages)->Arg(32);
BENCHMARK(BM_NullRead4k)->Arg(1)->Arg(32);
BENCHMARK(BM_NullWrite4k)->Arg(32);
BENCHMARK(BM_TmpfsRead4k)->Arg(1)->Arg(32);
BENCHMARK(BM_TmpfsWrite4k)->Arg(32);

}  // namespace
}  // namespace vof

BENCHMARK_MAIN();
