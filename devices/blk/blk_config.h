// SPDX-License-Identifier: Apache-2.0
//
// The configuration space of a block device: what drivers read, the one byte that they may write,
// and the generation that changes with the capacity.
//
//   BlkConfig config(MakeBlkConfigSpace(...), /*writeback_is_writable=*/true);
//   config.Read(0, 8, &value);              // control, any thread
//   config.capacity_sectors();              // data path: a relaxed load
//
// Thread-safe. A read sees the value and the generation of one moment.
#ifndef VOF_DEVICES_BLK_BLK_CONFIG_H_
#define VOF_DEVICES_BLK_BLK_CONFIG_H_

#include <atomic>
#include <cstdint>
#include <mutex>

#include "core/device/device.h"
#include "devices/blk/blk_options.h"
#include "devices/blk/blk_wire.h"
#include "devices/blk/block_store.h"

namespace vof {

// What the device offers, from its options and what its store can do (5.2.3; the framework adds
// VERSION_1).
uint64_t BlkFeatures(const BlkOptions& options, const StoreTraits& traits);
// The configuration space that goes with them (5.2.4).
BlkConfigSpace MakeBlkConfigSpace(const BlkOptions& options, const StoreTraits& traits,
                                  uint64_t size_bytes);

class BlkConfig {
 public:
  BlkConfig(const BlkConfigSpace& space, bool writeback_is_writable);

  ConfigError Read(uint16_t offset, uint8_t bytes, ConfigValue* out) const;
  // Only the writeback byte can be written.
  ConfigError Write(uint16_t offset, uint8_t bytes, uint64_t value);
  // Starts a new generation.
  void SetCapacity(uint64_t capacity_sectors);

  // For the data path. Relaxed: a queue learns of a change with the next batch that it sees it in;
  // whoever must know that earlier requests are over waits for their completion.
  uint64_t capacity_sectors() const { return capacity_sectors_.load(std::memory_order_relaxed); }
  bool writeback() const { return writeback_.load(std::memory_order_relaxed); }

 private:
  const bool writeback_is_writable_;
  mutable std::mutex mutex_;
  BlkConfigSpace space_;     // under mutex_
  uint32_t generation_ = 0;  // under mutex_
  std::atomic<uint64_t> capacity_sectors_;
  std::atomic<bool> writeback_;
};

}  // namespace vof

#endif  // VOF_DEVICES_BLK_BLK_CONFIG_H_
