// SPDX-License-Identifier: Apache-2.0
//
// What a dialect costs per request: both ends code one command and one completion each.
#include <array>
#include <cstddef>
#include <cstdint>

#include "benchmark/benchmark.h"
#include "core/wire/codec.h"
#include "core/wire/ref.h"
#include "core/wire/v5.h"

namespace vof {
namespace {

using Header = std::array<std::byte, kHeaderBytes>;

// More headers than fit in registers, so that every iteration really loads and stores.
constexpr size_t kBatch = 64;

template <Codec C>
std::array<Header, kBatch> EncodedCommands() {
  std::array<Header, kBatch> headers;
  for (size_t i = 0; i < kBatch; ++i) {
    Command command;
    command.kind = CommandKind::kVq;
    command.command_id = static_cast<uint16_t>(i);
    command.out_length = 16;
    command.in_length = 4097;
    command.ndesc = 3;
    C::EncodeCommand(command, headers[i]);
  }
  return headers;
}

template <Codec C>
void BM_DecodeVqCommand(benchmark::State& state) {
  auto headers = EncodedCommands<C>();
  for (auto _ : state) {
    benchmark::DoNotOptimize(headers.data());
    benchmark::ClobberMemory();
    for (const Header& header : headers) {
      Command command;
      benchmark::DoNotOptimize(C::DecodeCommand(header, command));
      benchmark::DoNotOptimize(command.command_id);
      benchmark::DoNotOptimize(command.in_length);
    }
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK_TEMPLATE(BM_DecodeVqCommand, V5);
BENCHMARK_TEMPLATE(BM_DecodeVqCommand, Ref);

template <Codec C>
void BM_EncodeVqCommand(benchmark::State& state) {
  std::array<Header, kBatch> headers;
  Command command;
  command.kind = CommandKind::kVq;
  command.out_length = 16;
  command.in_length = 4097;
  command.ndesc = 3;
  for (auto _ : state) {
    for (Header& header : headers) {
      ++command.command_id;
      C::EncodeCommand(command, header);
    }
    benchmark::DoNotOptimize(headers.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK_TEMPLATE(BM_EncodeVqCommand, V5);
BENCHMARK_TEMPLATE(BM_EncodeVqCommand, Ref);

template <Codec C>
void BM_VqCompletion(benchmark::State& state) {
  std::array<Header, kBatch> headers;
  Completion completion;
  completion.used_length = 4097;
  completion.inline_length = 4097;
  completion.grant = 1;
  completion.ndesc = 2;
  for (auto _ : state) {
    for (Header& header : headers) {
      ++completion.command_id;
      C::EncodeCompletion(CommandKind::kVq, completion, header);
    }
    benchmark::DoNotOptimize(headers.data());
    benchmark::ClobberMemory();
    for (const Header& header : headers) {
      const Completion received = C::DecodeCompletion(CommandKind::kVq, header);
      benchmark::DoNotOptimize(received.command_id);
      benchmark::DoNotOptimize(received.used_length);
    }
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK_TEMPLATE(BM_VqCompletion, V5);
BENCHMARK_TEMPLATE(BM_VqCompletion, Ref);

template <Codec C>
void BM_Segment(benchmark::State& state) {
  std::array<std::array<std::byte, C::kDescriptorBytes>, kBatch> descriptors;
  Segment segment;
  segment.length_bytes = 4096;
  segment.writable = true;
  for (auto _ : state) {
    for (auto& descriptor : descriptors) {
      ++segment.id;
      C::EncodeSegment(segment, descriptor);
    }
    benchmark::DoNotOptimize(descriptors.data());
    benchmark::ClobberMemory();
    for (const auto& descriptor : descriptors) {
      benchmark::DoNotOptimize(C::DecodeSegment(descriptor).length_bytes);
    }
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK_TEMPLATE(BM_Segment, V5);
BENCHMARK_TEMPLATE(BM_Segment, Ref);

}  // namespace
}  // namespace vof
