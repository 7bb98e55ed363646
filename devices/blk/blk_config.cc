// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/blk_config.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "devices/blk/blk_limits.h"

namespace vof {
namespace {

uint32_t PhysicalBlockBytes(const BlkOptions& options, const StoreTraits& traits) {
  return std::max(options.block_size_bytes, traits.physical_block_bytes);
}

// A driver with a ring must not make chains that are longer than the virtqueue (virtio 1.2, section
// 2.7.5.3.1), indirect ones included: the header and the status are two of them.
uint32_t MaxSegments(const BlkOptions& options) {
  const uint32_t fit = options.max_queue_size > 3 ? options.max_queue_size - 2u : 1u;
  return std::min(kBlkSegMax, fit);
}

bool MayBeShared(const BlkOptions& options) { return options.read_only || options.shareable; }

ConfigError CheckConfigRange(uint16_t offset, uint8_t bytes) {
  if (offset >= sizeof(BlkConfigSpace)) return ConfigError::kOffset;
  if (bytes > sizeof(BlkConfigSpace) - offset || bytes > sizeof(uint64_t)) {
    return ConfigError::kBytes;
  }
  return ConfigError::kNone;
}

}  // namespace

uint64_t BlkFeatures(const BlkOptions& options, const StoreTraits& traits) {
  uint64_t features = kBlkFeatureSizeMax | kBlkFeatureSegMax | kBlkFeatureBlockSize |
                      kBlkFeatureFlush | kBlkFeatureTopology | kBlkFeatureMultiQueue;
  // One driver must not end the durability that another one counts on.
  if (!MayBeShared(options)) features |= kBlkFeatureConfigWce;
  if (options.read_only) return features | kBlkFeatureReadOnly;
  if (options.discard && traits.can_discard) features |= kBlkFeatureDiscard;
  if (options.write_zeroes) features |= kBlkFeatureWriteZeroes;
  return features;
}

BlkConfigSpace MakeBlkConfigSpace(const BlkOptions& options, const StoreTraits& traits,
                                  uint64_t size_bytes) {
  const uint64_t features = BlkFeatures(options, traits);
  const uint32_t block_bytes = options.block_size_bytes;
  const uint32_t physical_bytes = PhysicalBlockBytes(options, traits);
  BlkConfigSpace space;
  space.capacity = size_bytes / kSectorBytes;
  space.size_max = kBlkSizeMax;
  space.seg_max = MaxSegments(options);
  space.blk_size = block_bytes;
  space.physical_block_exp = static_cast<uint8_t>(std::bit_width(physical_bytes / block_bytes) - 1);
  space.min_io_size = static_cast<uint16_t>(std::min(physical_bytes / block_bytes, 0xffffu));
  space.opt_io_size = traits.optimal_io_bytes / block_bytes;
  space.writeback = options.write_cache ? 1 : 0;
  space.num_queues = options.num_queues;
  if ((features & kBlkFeatureDiscard) != 0) {
    space.max_discard_sectors = kBlkMaxDiscardSectors;
    space.max_discard_seg = kBlkMaxRanges;
    space.discard_sector_alignment = physical_bytes / kSectorBytes;
  }
  if ((features & kBlkFeatureWriteZeroes) != 0) {
    space.max_write_zeroes_sectors = kBlkMaxWriteZeroesSectors;
    space.max_write_zeroes_seg = kBlkMaxRanges;
    space.write_zeroes_may_unmap = traits.can_discard ? 1 : 0;
  }
  return space;
}

BlkConfig::BlkConfig(const BlkConfigSpace& space, bool writeback_is_writable)
    : writeback_is_writable_(writeback_is_writable),
      space_(space),
      capacity_sectors_(space.capacity),
      writeback_(space.writeback != 0) {}

ConfigError BlkConfig::Read(uint16_t offset, uint8_t bytes, ConfigValue* out) const {
  if (const ConfigError error = CheckConfigRange(offset, bytes); error != ConfigError::kNone) {
    return error;
  }
  Le64 value;
  const std::lock_guard lock(mutex_);
  std::memcpy(static_cast<void*>(&value), reinterpret_cast<const std::byte*>(&space_) + offset,
              bytes);
  out->value = value;
  out->generation = generation_;
  return ConfigError::kNone;
}

ConfigError BlkConfig::Write(uint16_t offset, uint8_t bytes, uint64_t value) {
  if (const ConfigError error = CheckConfigRange(offset, bytes); error != ConfigError::kNone) {
    return error;
  }
  if (offset != offsetof(BlkConfigSpace, writeback) || !writeback_is_writable_) {
    return ConfigError::kReadOnly;
  }
  if (bytes != 1) return ConfigError::kBytes;
  const std::lock_guard lock(mutex_);
  space_.writeback = value != 0 ? 1 : 0;
  writeback_.store(value != 0, std::memory_order_relaxed);
  return ConfigError::kNone;
}

void BlkConfig::SetCapacity(uint64_t capacity_sectors) {
  const std::lock_guard lock(mutex_);
  space_.capacity = capacity_sectors;
  ++generation_;
  capacity_sectors_.store(capacity_sectors, std::memory_order_relaxed);
}

}  // namespace vof
