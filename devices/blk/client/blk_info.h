// SPDX-License-Identifier: Apache-2.0
//
// What a block device says about itself, in bytes.
//
//   const BlkInfo& info = client->info();
//   if (offset_bytes % info.block_bytes != 0) ...
//
// Derived from the configuration space and the accepted features (virtio 1.3, 5.2.4).
#ifndef VOF_DEVICES_BLK_CLIENT_BLK_INFO_H_
#define VOF_DEVICES_BLK_CLIENT_BLK_INFO_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/engine/initiator_config_script.h"
#include "core/engine/initiator_handshake.h"
#include "devices/blk/blk_wire.h"

namespace vof {

struct BlkInfo {
  uint64_t capacity_bytes = 0;  // whole logical blocks
  // What the device has behind the last whole block: virtio counts in sectors of 512 bytes,
  // requests are made of blocks, so nothing reaches it.
  uint32_t unusable_tail_bytes = 0;
  uint32_t block_bytes =
      kSectorBytes;  // logical block: what offsets and lengths should be multiples of
  uint32_t physical_block_bytes = kSectorBytes;
  uint32_t alignment_offset_bytes = 0;
  uint32_t min_io_bytes = 0;  // 0: not stated
  uint32_t opt_io_bytes = 0;  // 0: not stated
  bool read_only = false;
  bool can_flush = false;
  bool write_cache = false;  // writes are durable after a flush only
  // Whether the device tells. If it does not, it has a cache for all that anybody knows when it can
  // flush (5.2.6.2).
  bool write_cache_known = true;
  bool can_set_cache = false;  // CONFIG_WCE
  uint16_t num_queues = 1;     // of the device
  uint32_t generation = 0;     // of the configuration that this was read from
  std::string serial;          // at most 20 characters; empty: it has none

  bool can_discard = false;
  uint64_t max_discard_bytes = 0;  // of one segment
  uint32_t max_discard_segments = 0;
  uint32_t discard_alignment_bytes = 0;
  bool can_write_zeroes = false;
  bool write_zeroes_may_unmap = false;
  uint64_t max_write_zeroes_bytes = 0;  // of one segment
  uint32_t max_write_zeroes_segments = 0;

  uint32_t size_max_bytes = 0;  // of one data segment; 0: not stated
  uint32_t seg_max = 0;         // data segments; 0: not stated
  // Largest data of one request that device, target and dialect all take; a multiple of
  // block_bytes.
  uint32_t max_transfer_bytes = 0;
};

// The features this client knows what to do with.
inline constexpr uint64_t kBlkClientFeatures =
    kBlkFeatureSizeMax | kBlkFeatureSegMax | kBlkFeatureReadOnly | kBlkFeatureBlockSize |
    kBlkFeatureFlush | kBlkFeatureTopology | kBlkFeatureConfigWce | kBlkFeatureMultiQueue |
    kBlkFeatureDiscard | kBlkFeatureWriteZeroes;

// The fields to read when these features were accepted, and what they mean, all but the serial.
std::vector<ConfigField> BlkInfoFields(uint64_t features);
absl::StatusOr<BlkInfo> MakeBlkInfo(const SessionInfo& session, const ConfigSnapshot& snapshot);

}  // namespace vof

#endif  // VOF_DEVICES_BLK_CLIENT_BLK_INFO_H_
