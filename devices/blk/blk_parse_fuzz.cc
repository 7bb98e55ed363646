// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a block request, its segments of discard and write-zeroes included: what is accepted
// lies inside the disk and the limits, and wherever the request is cut, the verdict is the same.
//
// Input: features (1 byte), where to cut (1), sectors of the disk (8), writable bytes (4), then the
// readable part.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/check.h"
#include "core/base/little_endian.h"
#include "devices/blk/blk_parse.h"
#include "devices/blk/blk_wire.h"

namespace vof {
namespace {

struct Preamble {
  uint8_t features = 0;
  uint8_t cut = 0;
  Le64 capacity_sectors;
  Le32 writable_bytes;
};
static_assert(sizeof(Preamble) == 14);

constexpr uint64_t kMostSectors = UINT64_MAX / kSectorBytes;

BlkParseLimits LimitsOf(const Preamble& preamble) {
  const auto has = [&](int bit) { return (preamble.features >> bit & 1) != 0; };
  return {.capacity_sectors = std::min<uint64_t>(preamble.capacity_sectors, kMostSectors),
          .alignment_sectors = has(4) ? 8u : 1u,
          .read_only = has(0),
          .allow_flush = has(1),
          .allow_discard = has(2),
          .allow_write_zeroes = has(3)};
}

void CheckInside(uint64_t offset_bytes, uint64_t length_bytes, const BlkParseLimits& limits) {
  const uint64_t size_bytes = limits.capacity_sectors * kSectorBytes;
  const uint64_t unit_bytes = uint64_t{limits.alignment_sectors} * kSectorBytes;
  Check(offset_bytes <= size_bytes && length_bytes <= size_bytes - offset_bytes, "inside the disk");
  Check(offset_bytes % unit_bytes == 0 && length_bytes % unit_bytes == 0, "aligned");
}

void CheckAccepted(const BlkOperation& operation, const BlkRanges& ranges,
                   const BlkParseLimits& limits, uint32_t writable_bytes) {
  const bool changes = operation.verb == BlkVerb::kWrite || operation.verb == BlkVerb::kDiscard ||
                       operation.verb == BlkVerb::kWriteZeroes;
  Check(!changes || !limits.read_only, "nothing changes a read-only disk");
  switch (operation.verb) {
    case BlkVerb::kRead:
      Check(operation.length_bytes == writable_bytes - 1, "data and status fill the writable part");
      CheckInside(operation.offset_bytes, operation.length_bytes, limits);
      break;
    case BlkVerb::kWrite:
      Check(operation.length_bytes == operation.data.remaining_bytes(), "all of the data");
      CheckInside(operation.offset_bytes, operation.length_bytes, limits);
      break;
    case BlkVerb::kDiscard:
    case BlkVerb::kWriteZeroes:
      Check(operation.verb == BlkVerb::kDiscard ? limits.allow_discard : limits.allow_write_zeroes,
            "negotiated");
      Check(operation.num_ranges >= 1 && operation.num_ranges <= kBlkMaxRanges, "ranges");
      for (uint32_t i = 0; i < operation.num_ranges; ++i) {
        CheckInside(ranges[i].offset_bytes, ranges[i].length_bytes, limits);
      }
      break;
    case BlkVerb::kFlush:
      Check(limits.allow_flush, "negotiated");
      break;
    case BlkVerb::kGetId:
      break;
  }
}

void Run(std::span<const std::byte> input) {
  if (input.size() < sizeof(Preamble)) return;
  const auto preamble = ReadStruct<Preamble>(input);
  const std::span<const std::byte> readable = input.subspan(sizeof(Preamble));
  const BlkParseLimits limits = LimitsOf(preamble);
  const ConstBuffer whole(readable.data(), readable.size());
  BlkOperation operation = {};
  BlkRanges ranges = {};
  const BlkRule rule = ParseBlk({&whole, 1}, preamble.writable_bytes, limits, &operation, &ranges);
  Check(static_cast<int>(rule) < kNumBlkRules && !DescribeBlkRule(rule).empty(), "a known rule");
  if (rule == BlkRule::kNone) CheckAccepted(operation, ranges, limits, preamble.writable_bytes);

  // Pieces of their own, so that a sanitizer sees a step over any border.
  const size_t piece_bytes = preamble.cut + size_t{1};
  std::vector<std::unique_ptr<std::byte[]>> memory;
  std::vector<ConstBuffer> pieces;
  for (size_t at = 0; at < readable.size(); at += piece_bytes) {
    const size_t size = std::min(piece_bytes, readable.size() - at);
    memory.emplace_back(new std::byte[size]);
    std::copy_n(readable.data() + at, size, memory.back().get());
    pieces.emplace_back(memory.back().get(), size);
    pieces.emplace_back();  // an empty one
  }
  BlkOperation again = {};
  BlkRanges ranges_again = {};
  Check(ParseBlk(pieces, preamble.writable_bytes, limits, &again, &ranges_again) == rule,
        "cuts do not matter");
  if (rule != BlkRule::kNone) return;
  Check(again.verb == operation.verb && again.num_ranges == operation.num_ranges &&
            again.offset_bytes == operation.offset_bytes &&
            again.length_bytes == operation.length_bytes,
        "cuts do not matter");
}

}  // namespace
}  // namespace vof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  vof::Run(std::as_bytes(std::span(data, size)));
  return 0;
}
