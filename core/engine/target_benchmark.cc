// SPDX-License-Identifier: Apache-2.0
//
// What the target's engine costs per request, without I/O: parse, submit, complete, frame.
//
//   bazel run --config=opt //core/engine:target_benchmark
#include <memory>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "core/engine/testing/target_harness.h"

namespace vof {
namespace {

constexpr uint16_t kBatch = 64;

// 4 KiB reads from a device that lends its memory, 64 at a time.
template <typename C>
void BM_Reads(benchmark::State& state) {
  FakeDeviceOptions options;
  options.lends_results = true;
  TargetHarness target(options);
  TestSession<C> session(target, transport_feature::kCredit);
  std::vector<std::byte> bytes;
  for (uint16_t i = 0; i < kBatch; ++i) {
    const auto one = RequestBytes<C>(i, std::string(16, 'x'), 4097);
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  TargetConnection& engine = session.queue->engine();
  std::vector<std::byte> scratch(kScratchBytes);
  std::vector<ConstBuffer> pieces(kMaxIovecs);
  uint64_t sent_bytes = 0;
  for (auto _ : state) {
    MutableBuffer place;
    engine.PrepareRead({scratch.data(), scratch.size()}, {&place, 1});
    std::memcpy(place.data, bytes.data(), bytes.size());
    engine.OnRead(bytes.size(), target.now);
    engine.Advance(target.now);
    while (const int count = engine.PrepareWrite(pieces)) {
      size_t sent = 0;
      for (int i = 0; i < count; ++i) sent += pieces[static_cast<size_t>(i)].size_bytes;
      engine.OnWritten(sent);
      sent_bytes += sent;
    }
  }
  // Refusals would be quick too.
  const uint64_t descriptor_bytes = C::kSegmentedStreams ? C::kDescriptorBytes : 0;
  const auto requests = static_cast<uint64_t>(state.iterations()) * kBatch;
  if (static_cast<uint64_t>(target.device->queue(0)->requests) != requests ||
      sent_bytes != requests * (kHeaderBytes + descriptor_bytes + 4097)) {
    state.SkipWithError("not every request was served");
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK_TEMPLATE(BM_Reads, V5);
BENCHMARK_TEMPLATE(BM_Reads, Ref);

}  // namespace
}  // namespace vof
