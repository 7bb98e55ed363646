// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/blk_parse.h"

#include "core/base/limits.h"
#include "devices/blk/blk_wire.h"

namespace vof {
namespace {

// Whether a run of sectors is one that the device has and the store can address. No sum can wrap.
BlkRule CheckSectors(uint64_t sector, uint64_t num_sectors, const BlkParseLimits& limits) {
  if (sector > limits.capacity_sectors || num_sectors > limits.capacity_sectors - sector) {
    return BlkRule::kPastEnd;
  }
  if (((sector | num_sectors) & (limits.alignment_sectors - 1)) != 0) return BlkRule::kMisaligned;
  return BlkRule::kNone;
}

BlkRule ParseTransfer(uint64_t sector, uint64_t data_bytes, const BlkParseLimits& limits,
                      BlkOperation* operation) {
  if (data_bytes % kSectorBytes != 0) return BlkRule::kDataNotSectors;
  if (data_bytes > kMaxDataBytes) return BlkRule::kDataTooLong;
  const BlkRule rule = CheckSectors(sector, data_bytes / kSectorBytes, limits);
  if (rule != BlkRule::kNone) return rule;
  operation->offset_bytes = sector * kSectorBytes;
  operation->length_bytes = data_bytes;
  return BlkRule::kNone;
}

BlkRule ParseSegment(const BlkDiscardSegment& segment, BlkVerb verb, const BlkParseLimits& limits,
                     StoreRange* range) {
  const uint32_t flags = segment.flags;
  if ((flags & ~kBlkSegmentFlagUnmap) != 0) return BlkRule::kReservedFlags;
  if (verb == BlkVerb::kDiscard && flags != 0) return BlkRule::kUnmapInDiscard;
  const uint32_t num_sectors = segment.num_sectors;
  const uint32_t max_sectors =
      verb == BlkVerb::kDiscard ? kBlkMaxDiscardSectors : kBlkMaxWriteZeroesSectors;
  if (num_sectors > max_sectors) return BlkRule::kSegmentTooLong;
  const BlkRule rule = CheckSectors(segment.sector, num_sectors, limits);
  if (rule != BlkRule::kNone) return rule;
  *range = {.offset_bytes = segment.sector * kSectorBytes,
            .length_bytes = uint64_t{num_sectors} * kSectorBytes,
            .may_unmap = flags != 0};
  return BlkRule::kNone;
}

BlkRule ParseSegments(BufferReader data, const BlkParseLimits& limits, BlkOperation* operation,
                      BlkRanges* ranges) {
  const uint64_t list_bytes = data.remaining_bytes();
  if (list_bytes == 0 || list_bytes % sizeof(BlkDiscardSegment) != 0)
    return BlkRule::kBadSegmentList;
  const uint64_t num_segments = list_bytes / sizeof(BlkDiscardSegment);
  if (num_segments > kBlkMaxRanges) return BlkRule::kTooManySegments;
  for (uint64_t i = 0; i < num_segments; ++i) {
    BlkDiscardSegment segment;
    data.Read(&segment, sizeof(segment));
    const BlkRule rule = ParseSegment(segment, operation->verb, limits, &(*ranges)[i]);
    if (rule != BlkRule::kNone) return rule;
  }
  operation->num_ranges = static_cast<uint32_t>(num_segments);
  return BlkRule::kNone;
}

BlkRule ParseDiscard(BlkVerb verb, bool allowed, BufferReader data, const BlkParseLimits& limits,
                     BlkOperation* operation, BlkRanges* ranges) {
  if (limits.read_only) return BlkRule::kReadOnly;
  if (!allowed) return BlkRule::kNotNegotiated;
  operation->verb = verb;
  return ParseSegments(data, limits, operation, ranges);
}

}  // namespace

BlkRule ParseBlk(std::span<const ConstBuffer> readable, uint32_t writable_bytes,
                 const BlkParseLimits& limits, BlkOperation* operation, BlkRanges* ranges) {
  if (writable_bytes == 0) return BlkRule::kNoRoomForStatus;
  BufferReader in(readable);
  BlkRequestHeader header;
  if (!in.Read(&header, sizeof(header))) return BlkRule::kHeaderTooShort;
  switch (header.type) {
    case kBlkTypeIn:
      operation->verb = BlkVerb::kRead;
      return ParseTransfer(header.sector, writable_bytes - 1, limits, operation);
    case kBlkTypeOut:
      if (limits.read_only) return BlkRule::kReadOnly;
      operation->verb = BlkVerb::kWrite;
      operation->data = in;
      return ParseTransfer(header.sector, in.remaining_bytes(), limits, operation);
    case kBlkTypeFlush:
      operation->verb = BlkVerb::kFlush;
      return limits.allow_flush ? BlkRule::kNone : BlkRule::kNotNegotiated;
    case kBlkTypeGetId:
      operation->verb = BlkVerb::kGetId;
      return BlkRule::kNone;
    case kBlkTypeDiscard:
      return ParseDiscard(BlkVerb::kDiscard, limits.allow_discard, in, limits, operation, ranges);
    case kBlkTypeWriteZeroes:
      return ParseDiscard(BlkVerb::kWriteZeroes, limits.allow_write_zeroes, in, limits, operation,
                          ranges);
    default:
      return BlkRule::kUnknownType;
  }
}

uint8_t BlkStatusFor(BlkRule rule) {
  switch (rule) {
    case BlkRule::kNone:
      return kBlkStatusOk;
    case BlkRule::kUnknownType:
    case BlkRule::kNotNegotiated:
    case BlkRule::kReservedFlags:
    case BlkRule::kUnmapInDiscard:
      return kBlkStatusUnsupported;
    default:
      return kBlkStatusIoError;
  }
}

std::string_view DescribeBlkRule(BlkRule rule) {
  static constexpr std::string_view kTexts[kNumBlkRules] = {
      "no rule is broken",
      "the request has no writable byte for its status",
      "the request header is shorter than 16 bytes",
      "the request type is unknown",
      "the request type was not negotiated",
      "the device is read-only",
      "the data is not a multiple of 512 bytes",
      "the data is longer than the largest request",
      "the sectors are not aligned to the block size of the store",
      "the sectors run past the end of the device",
      "the segment list is empty or not a multiple of 16 bytes",
      "the request has more segments than advertised",
      "a segment is longer than advertised",
      "a segment has a reserved flag set",
      "a discard segment has the unmap flag set",
  };
  return kTexts[static_cast<int>(rule)];
}

}  // namespace vof
