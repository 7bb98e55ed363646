// SPDX-License-Identifier: Apache-2.0
//
// What a virtio block driver and device exchange: configuration space, request header, discard
// segments. Virtual I/O Device (VIRTIO) 1.3, section 5.2. Nothing here decides anything.
//
//   BlkRequestHeader header;
//   if (!in.Read(&header, sizeof(header))) ...
//   if (header.type == kBlkTypeIn) ReadFrom(header.sector * kSectorBytes);
#ifndef VOF_DEVICES_BLK_BLK_WIRE_H_
#define VOF_DEVICES_BLK_BLK_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/base/little_endian.h"

namespace vof {

inline constexpr uint32_t kBlkDeviceType = 2;
// The unit of sector numbers, whatever the block size (5.2.2).
inline constexpr uint32_t kSectorBytes = 512;
inline constexpr uint32_t kBlkIdBytes = 20;

// --- Feature bits (5.2.3) ---
inline constexpr uint64_t kBlkFeatureSizeMax = 1ull << 1;
inline constexpr uint64_t kBlkFeatureSegMax = 1ull << 2;
inline constexpr uint64_t kBlkFeatureReadOnly = 1ull << 5;
inline constexpr uint64_t kBlkFeatureBlockSize = 1ull << 6;
inline constexpr uint64_t kBlkFeatureFlush = 1ull << 9;
inline constexpr uint64_t kBlkFeatureTopology = 1ull << 10;
inline constexpr uint64_t kBlkFeatureConfigWce = 1ull << 11;
inline constexpr uint64_t kBlkFeatureMultiQueue = 1ull << 12;
inline constexpr uint64_t kBlkFeatureDiscard = 1ull << 13;
inline constexpr uint64_t kBlkFeatureWriteZeroes = 1ull << 14;

// --- Request types and status (5.2.6) ---
inline constexpr uint32_t kBlkTypeIn = 0;
inline constexpr uint32_t kBlkTypeOut = 1;
inline constexpr uint32_t kBlkTypeFlush = 4;
inline constexpr uint32_t kBlkTypeGetId = 8;
inline constexpr uint32_t kBlkTypeDiscard = 11;
inline constexpr uint32_t kBlkTypeWriteZeroes = 13;

inline constexpr uint8_t kBlkStatusOk = 0;
inline constexpr uint8_t kBlkStatusIoError = 1;
inline constexpr uint8_t kBlkStatusUnsupported = 2;

struct BlkRequestHeader {
  Le32 type;
  Le32 reserved;  // was an I/O priority in legacy drivers; ignored
  Le64 sector;
};
static_assert(sizeof(BlkRequestHeader) == 16 && alignof(BlkRequestHeader) == 1);
static_assert(offsetof(BlkRequestHeader, sector) == 8);
static_assert(std::is_trivially_copyable_v<BlkRequestHeader>);

// One of the segments that make up the data of a discard or write-zeroes request.
struct BlkDiscardSegment {
  Le64 sector;
  Le32 num_sectors;
  Le32 flags;
};
inline constexpr uint32_t kBlkSegmentFlagUnmap = 1;
static_assert(sizeof(BlkDiscardSegment) == 16 && alignof(BlkDiscardSegment) == 1);
static_assert(offsetof(BlkDiscardSegment, num_sectors) == 8);
static_assert(offsetof(BlkDiscardSegment, flags) == 12);
static_assert(std::is_trivially_copyable_v<BlkDiscardSegment>);

// struct virtio_blk_config (5.2.4). Fields whose feature is not offered are zero.
struct BlkConfigSpace {
  Le64 capacity;  // in sectors
  Le32 size_max;
  Le32 seg_max;
  Le16 cylinders;
  uint8_t heads = 0;
  uint8_t sectors = 0;
  Le32 blk_size;
  uint8_t physical_block_exp = 0;  // log2 of logical blocks per physical one
  uint8_t alignment_offset = 0;
  Le16 min_io_size;  // in logical blocks, as is opt_io_size
  Le32 opt_io_size;
  uint8_t writeback = 0;
  uint8_t unused0 = 0;
  Le16 num_queues;
  Le32 max_discard_sectors;
  Le32 max_discard_seg;
  Le32 discard_sector_alignment;
  Le32 max_write_zeroes_sectors;
  Le32 max_write_zeroes_seg;
  uint8_t write_zeroes_may_unmap = 0;
  uint8_t unused1[3] = {};
  Le32 max_secure_erase_sectors;
  Le32 max_secure_erase_seg;
  Le32 secure_erase_sector_alignment;
};
static_assert(sizeof(BlkConfigSpace) == 72 && alignof(BlkConfigSpace) == 1);
static_assert(offsetof(BlkConfigSpace, seg_max) == 12);
static_assert(offsetof(BlkConfigSpace, blk_size) == 20);
static_assert(offsetof(BlkConfigSpace, physical_block_exp) == 24);
static_assert(offsetof(BlkConfigSpace, writeback) == 32);
static_assert(offsetof(BlkConfigSpace, num_queues) == 34);
static_assert(offsetof(BlkConfigSpace, max_discard_sectors) == 36);
static_assert(offsetof(BlkConfigSpace, max_write_zeroes_seg) == 52);
static_assert(offsetof(BlkConfigSpace, write_zeroes_may_unmap) == 56);
static_assert(offsetof(BlkConfigSpace, max_secure_erase_sectors) == 60);
static_assert(std::is_trivially_copyable_v<BlkConfigSpace>);

}  // namespace vof

#endif  // VOF_DEVICES_BLK_BLK_WIRE_H_
