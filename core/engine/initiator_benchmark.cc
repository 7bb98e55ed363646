// SPDX-License-Identifier: Apache-2.0
//
// What a request costs inside the initiator's engine, without transport: submit, encode, decode,
// complete.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "core/engine/initiator_virtqueue_stream.h"
#include "core/wire/ref.h"
#include "core/wire/v5.h"

namespace vof {
namespace {

struct Io {
  std::array<std::byte, 16> header{};
  std::vector<std::byte> data;
  std::byte status{};
  std::array<ConstBuffer, 1> readable;
  std::array<MutableBuffer, 2> writable;
  InitiatorRequest request;
};

template <typename C>
void AppendAnswer(uint16_t id, uint32_t data_bytes, std::string* answers) {
  Completion completion;
  completion.command_id = id;
  completion.used_length = completion.inline_length = data_bytes + 1;
  completion.grant = 1;
  completion.ndesc = data_bytes > 0 ? 2 : 1;
  std::array<std::byte, kHeaderBytes> header;
  C::EncodeCompletion(CommandKind::kVq, completion, HeaderOut(header));
  answers->append(reinterpret_cast<const char*>(header.data()), header.size());
  if constexpr (C::kSegmentedStreams) {
    Segment segment;
    segment.writable = true;
    segment.id = 1;
    for (const uint32_t bytes : {data_bytes, 1u}) {
      if (bytes == 0) continue;
      segment.length_bytes = bytes;
      std::array<std::byte, C::kDescriptorBytes> descriptor;
      C::EncodeSegment(segment, descriptor);
      answers->append(reinterpret_cast<const char*>(descriptor.data()), descriptor.size());
      ++segment.id;
    }
  }
  answers->append(data_bytes + 1, '\0');
}

void TakeOutput(StreamEngine& engine) {
  std::array<ConstBuffer, 1024> pieces;
  for (int n = engine.PrepareWrite(pieces); n > 0; n = engine.PrepareWrite(pieces)) {
    size_t bytes = 0;
    for (int i = 0; i < n; ++i) bytes += pieces[i].size_bytes;
    engine.OnWritten(bytes);
  }
}

// Hands `bytes` in as a transport would have left them in the receive buffer, without copying.
void Receive(StreamEngine& engine, std::string& bytes, MonotonicTime now) {
  std::array<MutableBuffer, 1024> places;
  engine.PrepareRead({bytes.data(), bytes.size()}, places);
  engine.OnRead(bytes.size(), now);
}

// Arguments: depth, data bytes.
template <typename C>
void BM_InitiatorRequest(benchmark::State& state) {
  const auto depth = static_cast<uint16_t>(state.range(0));
  const auto data_bytes = static_cast<uint32_t>(state.range(1));
  InitiatorQueueOptions options;
  options.queue_size = depth;
  options.credits = C::kDialect == Dialect::kV5;
  options.timeout = 30 * kNanosecondsPerSecond;
  auto queue = std::make_shared<InitiatorQueue>(options);
  InitiatorVirtqueueStream<C> engine({}, queue);
  MonotonicTime now = 0;
  engine.Advance(now);
  TakeOutput(engine);
  std::string connected(kHeaderBytes, '\0'), answers;
  Receive(engine, connected, now);
  std::vector<Io> ios(depth);
  for (uint16_t id = 0; id < depth; ++id) {
    Io& io = ios[id];
    io.data.resize(data_bytes);
    io.readable[0] = ConstBuffer(io.header.data(), io.header.size());
    io.writable = {MutableBuffer(io.data.data(), io.data.size()), MutableBuffer(&io.status, 1)};
    io.request.readable = io.readable;
    io.request.writable = io.writable;
    io.request.done = [](InitiatorRequest*) {};
    AppendAnswer<C>(id, data_bytes, &answers);
  }
  for (auto _ : state) {
    now += 1000;
    for (Io& io : ios) queue->Submit(&io.request);
    engine.Advance(now);
    TakeOutput(engine);
    Receive(engine, answers, now);
    engine.Advance(now);
  }
  if (queue->outstanding() != 0) state.SkipWithError("requests were not answered");
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * depth);
  engine.OnClosed(CloseReason::kLocal, 0, now);
  engine.Advance(now);
}

BENCHMARK_TEMPLATE(BM_InitiatorRequest, V5)->ArgsProduct({{1, 32, 128}, {0, 4096}});
BENCHMARK_TEMPLATE(BM_InitiatorRequest, Ref)->ArgsProduct({{1, 32, 128}, {0, 4096}});

}  // namespace
}  // namespace vof

BENCHMARK_MAIN();
