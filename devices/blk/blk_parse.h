// SPDX-License-Identifier: Apache-2.0
//
// Parsing of block requests, apart from their execution: from a scatter list that a peer cut as it
// liked to a validated operation, or the rule that the request breaks.
//
//   BlkOperation operation;
//   const BlkRule rule = ParseBlk(request->readable, request->writable_bytes, limits, &operation);
//   if (rule != BlkRule::kNone) Answer(BlkStatusFor(rule));
//
// Pure: no state, no I/O, no allocation. Checks everything before anything is done, so a request
// that is refused has no partial effect.
#ifndef VOF_DEVICES_BLK_BLK_PARSE_H_
#define VOF_DEVICES_BLK_BLK_PARSE_H_

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/buffer.h"
#include "core/device/buffer_cursor.h"
#include "devices/blk/blk_limits.h"
#include "devices/blk/block_store.h"

namespace vof {

// Each enumerator names a rule of VIRTIO 1.3, 5.2.6 (or a limit of ours) that a request can break.
enum class BlkRule : uint8_t {
  kNone,
  kNoRoomForStatus,  // there is no writable byte: the device cannot answer at all
  kHeaderTooShort,   // fewer than 16 readable bytes
  kUnknownType,      //
  kNotNegotiated,    // flush, discard or write-zeroes without its feature
  kReadOnly,         // a write to a read-only device
  kDataNotSectors,   // data that is not a multiple of 512 bytes
  kDataTooLong,      // above kMaxDataBytes
  kMisaligned,       // not a multiple of what the store can address
  kPastEnd,          // ends after the last sector
  kBadSegmentList,   // discard data that is empty or not a multiple of 16 bytes
  kTooManySegments,  // above max_discard_seg / max_write_zeroes_seg
  kSegmentTooLong,   // above max_discard_sectors / max_write_zeroes_sectors
  kReservedFlags,    // a flag of a segment that has no meaning
  kUnmapInDiscard,   // the unmap flag in a discard
};
inline constexpr int kNumBlkRules = 15;

// For people: what the driver did wrong.
std::string_view DescribeBlkRule(BlkRule rule);
// The status byte of 5.2.6.2. Not for kNoRoomForStatus.
uint8_t BlkStatusFor(BlkRule rule);

// What a request is held against: fixed per batch.
struct BlkParseLimits {
  uint64_t capacity_sectors = 0;
  uint32_t alignment_sectors = 1;  // a power of two
  bool read_only = false;
  // By negotiation.
  bool allow_flush = false;
  bool allow_discard = false;
  bool allow_write_zeroes = false;
};

enum class BlkVerb : uint8_t { kRead, kWrite, kFlush, kGetId, kDiscard, kWriteZeroes };

struct BlkOperation {
  BlkVerb verb;
  uint64_t offset_bytes;  // kRead, kWrite
  uint64_t length_bytes;  // kRead, kWrite
  BufferReader data;      // kWrite: a view into the readable part
  uint32_t num_ranges;    // kDiscard, kWriteZeroes
};
// Room for the ranges of a discard or write-zeroes; copied, so that a peer which can still write to
// the request's memory cannot change what was checked.
using BlkRanges = std::array<StoreRange, kBlkMaxRanges>;

// `writable_bytes` is the whole writable part, its last byte the status. On kNone fills what
// belongs to the verb of `operation`, and `ranges`.
BlkRule ParseBlk(std::span<const ConstBuffer> readable, uint32_t writable_bytes,
                 const BlkParseLimits& limits, BlkOperation* operation, BlkRanges* ranges);

}  // namespace vof

#endif  // VOF_DEVICES_BLK_BLK_PARSE_H_
