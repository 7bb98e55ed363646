// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/client/blk_info.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "core/base/limits.h"
#include "core/base/little_endian.h"
#include "core/engine/initiator_status.h"
#include "devices/blk/client/blk_io.h"

namespace vof {
namespace {

// A configuration field and the feature that makes it mean something.
struct Field {
  uint64_t feature;
  size_t offset;
  uint8_t bytes;
};
constexpr std::array kFields = {
    Field{0, offsetof(BlkConfigSpace, capacity), 8},
    Field{kBlkFeatureSizeMax, offsetof(BlkConfigSpace, size_max), 4},
    Field{kBlkFeatureSegMax, offsetof(BlkConfigSpace, seg_max), 4},
    Field{kBlkFeatureBlockSize, offsetof(BlkConfigSpace, blk_size), 4},
    Field{kBlkFeatureTopology, offsetof(BlkConfigSpace, physical_block_exp), 1},
    Field{kBlkFeatureTopology, offsetof(BlkConfigSpace, alignment_offset), 1},
    Field{kBlkFeatureTopology, offsetof(BlkConfigSpace, min_io_size), 2},
    Field{kBlkFeatureTopology, offsetof(BlkConfigSpace, opt_io_size), 4},
    Field{kBlkFeatureConfigWce, offsetof(BlkConfigSpace, writeback), 1},
    Field{kBlkFeatureMultiQueue, offsetof(BlkConfigSpace, num_queues), 2},
    Field{kBlkFeatureDiscard, offsetof(BlkConfigSpace, max_discard_sectors), 4},
    Field{kBlkFeatureDiscard, offsetof(BlkConfigSpace, max_discard_seg), 4},
    Field{kBlkFeatureDiscard, offsetof(BlkConfigSpace, discard_sector_alignment), 4},
    Field{kBlkFeatureWriteZeroes, offsetof(BlkConfigSpace, max_write_zeroes_sectors), 4},
    Field{kBlkFeatureWriteZeroes, offsetof(BlkConfigSpace, max_write_zeroes_seg), 4},
    Field{kBlkFeatureWriteZeroes, offsetof(BlkConfigSpace, write_zeroes_may_unmap), 1},
};

constexpr uint64_t kMaxCapacitySectors = (uint64_t{1} << 63) / kSectorBytes - 1;
constexpr uint32_t kMaxBlockBytes = 1u << 20;

BlkConfigSpace ToConfigSpace(const std::vector<ConfigField>& fields,
                             const std::vector<uint64_t>& values) {
  std::array<std::byte, sizeof(BlkConfigSpace)> image{};
  for (size_t i = 0; i < fields.size() && i < values.size(); ++i) {
    for (uint8_t byte = 0; byte < fields[i].bytes; ++byte) {
      image[fields[i].offset + byte] = static_cast<std::byte>(values[i] >> (8 * byte));
    }
  }
  return ReadStruct<BlkConfigSpace>(image);
}

absl::Status CheckConfig(const BlkConfigSpace& config, const BlkInfo& info) {
  if (config.capacity > kMaxCapacitySectors) {
    return ProtocolStatus(absl::StrCat("the device claims a capacity of ",
                                       uint64_t{config.capacity}, " sectors, more than 2^54"));
  }
  if (!std::has_single_bit(info.block_bytes) || info.block_bytes < kSectorBytes ||
      info.block_bytes > kMaxBlockBytes) {
    return ProtocolStatus(absl::StrCat("the device claims a block size of ", info.block_bytes,
                                       " bytes; possible are powers of two from 512 to ",
                                       kMaxBlockBytes));
  }
  if (config.physical_block_exp > 16) {
    return ProtocolStatus(absl::StrCat("the device claims 2^", int{config.physical_block_exp},
                                       " logical blocks per physical one"));
  }
  return absl::OkStatus();
}

// What all of device, target, dialect and BlkIo take.
uint32_t MaxTransfer(const SessionInfo& session, const BlkInfo& info) {
  uint64_t bytes = kMaxDataBytes;
  const uint64_t status_bytes = 1;
  bytes = std::min<uint64_t>(
      bytes,
      session.max_out_bytes - std::min<uint64_t>(session.max_out_bytes, sizeof(BlkRequestHeader)));
  bytes = std::min<uint64_t>(
      bytes, session.max_in_bytes - std::min<uint64_t>(session.max_in_bytes, status_bytes));
  uint64_t segments = info.seg_max != 0 ? info.seg_max : kMaxSegments;
  if (session.dialect == Dialect::kRef) {
    segments = std::min({segments, uint64_t{session.max_segments} - 2, uint64_t{kBlkIoPieces}});
  }
  if (info.size_max_bytes != 0) bytes = std::min(bytes, segments * info.size_max_bytes);
  return static_cast<uint32_t>(bytes - bytes % info.block_bytes);
}

}  // namespace

std::vector<ConfigField> BlkInfoFields(uint64_t features) {
  std::vector<ConfigField> fields;
  for (const Field& field : kFields) {
    if ((features & field.feature) != field.feature) continue;
    fields.push_back({static_cast<uint16_t>(field.offset), field.bytes});
  }
  return fields;
}

absl::StatusOr<BlkInfo> MakeBlkInfo(const SessionInfo& session, const ConfigSnapshot& snapshot) {
  const uint64_t features = session.features;
  const BlkConfigSpace config = ToConfigSpace(BlkInfoFields(features), snapshot.values);
  BlkInfo info;
  info.generation = snapshot.generation;
  if ((features & kBlkFeatureBlockSize) != 0) info.block_bytes = config.blk_size;
  if (absl::Status status = CheckConfig(config, info); !status.ok()) return status;
  const uint64_t size_bytes = config.capacity * kSectorBytes;
  info.unusable_tail_bytes = static_cast<uint32_t>(size_bytes % info.block_bytes);
  info.capacity_bytes = size_bytes - info.unusable_tail_bytes;
  info.physical_block_bytes = info.block_bytes << config.physical_block_exp;
  info.alignment_offset_bytes = config.alignment_offset * info.block_bytes;
  info.min_io_bytes = config.min_io_size * info.block_bytes;
  info.opt_io_bytes = config.opt_io_size * info.block_bytes;
  info.read_only = (features & kBlkFeatureReadOnly) != 0;
  info.can_flush = (features & kBlkFeatureFlush) != 0;
  info.can_set_cache = (features & kBlkFeatureConfigWce) != 0;
  info.write_cache_known = info.can_set_cache || !info.can_flush;
  info.write_cache = info.can_set_cache ? config.writeback != 0 : info.can_flush;
  if ((features & kBlkFeatureMultiQueue) != 0) {
    info.num_queues = std::max<uint16_t>(config.num_queues, uint16_t{1});
  }
  info.size_max_bytes = config.size_max;
  info.seg_max = config.seg_max;
  info.can_discard = (features & kBlkFeatureDiscard) != 0;
  info.max_discard_bytes = uint64_t{config.max_discard_sectors} * kSectorBytes;
  info.max_discard_segments = config.max_discard_seg;
  info.discard_alignment_bytes = config.discard_sector_alignment * kSectorBytes;
  info.can_write_zeroes = (features & kBlkFeatureWriteZeroes) != 0;
  info.max_write_zeroes_bytes = uint64_t{config.max_write_zeroes_sectors} * kSectorBytes;
  info.max_write_zeroes_segments = config.max_write_zeroes_seg;
  info.write_zeroes_may_unmap = config.write_zeroes_may_unmap != 0;
  info.max_transfer_bytes = MaxTransfer(session, info);
  if (info.max_transfer_bytes == 0) {
    return UnsupportedStatus(absl::StrCat(
        "the limits of the device (segments of ", info.size_max_bytes, " bytes, requests of ",
        session.max_out_bytes, " bytes) are below one block of ", info.block_bytes, " bytes"));
  }
  return info;
}

}  // namespace vof
