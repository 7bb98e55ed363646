// SPDX-License-Identifier: Apache-2.0
//
// The limits of the block device, advertised to drivers and enforced by the parser, with the
// arithmetic that derives them.
#ifndef VOF_DEVICES_BLK_BLK_LIMITS_H_
#define VOF_DEVICES_BLK_BLK_LIMITS_H_

#include <cstdint>

#include "core/base/limits.h"
#include "devices/blk/blk_wire.h"

namespace vof {

// A driver that fills seg_max segments of size_max bytes makes exactly the largest request of the
// stack: 128 * 32 KiB. With header and status that is 130 descriptors, of which fabrics take
// kMaxSegments whatever the size of the virtqueue (`ref` says so in get_feature, select 0), keyed
// `v5` 255. More and larger segments are served all the same, up to kMaxDataBytes and kMaxSegments.
// A device with smaller virtqueues says less (MakeBlkConfigSpace), for drivers with rings.
inline constexpr uint32_t kBlkSegMax = 128;
inline constexpr uint32_t kBlkSizeMax = kMaxDataBytes / kBlkSegMax;
static_assert(uint64_t{kBlkSegMax} * kBlkSizeMax == kMaxDataBytes);
static_assert(kBlkSegMax + 2 <= kMaxSegments);
static_assert(kBlkSizeMax >= 4096, "drivers need at least a page");

// Segments of one discard or write-zeroes request; their list is copied before anything is done.
inline constexpr uint32_t kBlkMaxRanges = 16;
// A memory disk drops pages and writes zeroes in small steps, between which its reactor serves
// others (memory_queue.h).
inline constexpr uint32_t kBlkMaxDiscardSectors = (64u << 20) / kSectorBytes;
// Zeroes may have to be written: a request costs at most as much as 16 of the largest writes.
inline constexpr uint32_t kBlkMaxWriteZeroesSectors = kMaxDataBytes / kSectorBytes;

}  // namespace vof

#endif  // VOF_DEVICES_BLK_BLK_LIMITS_H_
