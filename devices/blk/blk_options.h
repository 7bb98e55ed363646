// SPDX-License-Identifier: Apache-2.0
//
// What a person may choose about a block device, and the checks that tell them what is wrong with
// it.
//
//   BlkOptions options;
//   options.serial = "disk-17";
//   options.num_queues = 8;
//   absl::Status ok = ValidateBlkOptions(options, store->traits(), store->size_bytes());
#ifndef VOF_DEVICES_BLK_BLK_OPTIONS_H_
#define VOF_DEVICES_BLK_BLK_OPTIONS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "devices/blk/block_store.h"

namespace vof {

struct BlkOptions {
  // What GET_ID answers: at most 20 printable ASCII characters. Initiators that reconnect compare
  // it.
  std::string serial = "vof-blk";
  bool read_only = false;
  // The logical block size that drivers see: 512 or 4096. Requests are in sectors of 512 bytes all
  // the same, and sectors are accepted if the store can address them.
  uint32_t block_size_bytes = 512;
  uint16_t num_queues = 4;         // 1..kMaxQueuesPerInstance; drivers may use fewer
  uint16_t max_queue_size = 1024;  // 1..kMaxQueueSize
  // Where the writeback field starts: true, writes may sit in a cache until a flush; false, they
  // are durable before they complete. Drivers that negotiate CONFIG_WCE may change it; a device
  // that several may use at a time does not offer that, since the field is one for all of them.
  bool write_cache = true;
  bool discard = true;       // offer DISCARD (if the store can)
  bool write_zeroes = true;  // offer WRITE_ZEROES
  // Several initiators at a time may write. Read-only devices are always shareable.
  bool shareable = false;
};

// An error names the option, its value and what it may be.
absl::Status ValidateBlkOptions(const BlkOptions& options, const StoreTraits& traits,
                                uint64_t size_bytes);
// The part that a resize repeats.
absl::Status ValidateBlkSize(uint64_t size_bytes, uint32_t block_size_bytes);

}  // namespace vof

#endif  // VOF_DEVICES_BLK_BLK_OPTIONS_H_
