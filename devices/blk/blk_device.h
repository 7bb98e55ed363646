// SPDX-License-Identifier: Apache-2.0
//
// A virtio block device (VIRTIO 1.3, 5.2) over any store.
//
//   auto store = MakeMemoryStore({.size_bytes = 1ull << 30});
//   auto device = MakeBlkDevice({.serial = "disk-17"}, *store);
//   if (!device.ok()) ...                       // the status says which option is wrong, and why
//   (*device)->Resize(2ull << 30);              // from any thread, while it is in use
//
// Offers SIZE_MAX, SEG_MAX, RO, BLK_SIZE, FLUSH, TOPOLOGY, CONFIG_WCE, MQ, DISCARD and
// WRITE_ZEROES. The writeback field is one for the device, not one per instance: a device that can
// have several instances at a time (shareable, or read-only) does not offer CONFIG_WCE, so that no
// driver can end the durability that another one counts on.
#ifndef VOF_DEVICES_BLK_BLK_DEVICE_H_
#define VOF_DEVICES_BLK_BLK_DEVICE_H_

#include <cstdint>
#include <memory>
#include <mutex>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/device/config_listeners.h"
#include "core/device/device.h"
#include "devices/blk/blk_config.h"
#include "devices/blk/blk_options.h"
#include "devices/blk/block_store.h"
#include "devices/blk/zero_area.h"

namespace vof {

class BlkDevice final : public Device {
 public:
  // Options must be valid for the store: MakeBlkDevice checks them.
  BlkDevice(const BlkOptions& options, std::shared_ptr<BlockStore> store,
            std::shared_ptr<const ZeroArea> zeros);

  // Any thread. Grows or shrinks the store, then tells drivers: one configuration change per change
  // of size, none when the size stays. Requests under way behind a new end may fail; a store may
  // wait for them, so call it from a thread that serves no queue of this device. On an error
  // nothing has changed.
  absl::Status Resize(uint64_t new_capacity_bytes);
  uint64_t capacity_bytes() const { return config_->capacity_sectors() * kSectorBytes; }

  DeviceIdentity identity() const override { return {.device_type = kBlkDeviceType}; }
  uint64_t features() const override { return features_; }
  uint16_t num_queues() const override { return options_.num_queues; }
  uint16_t max_queue_size() const override { return options_.max_queue_size; }
  bool shareable() const override { return options_.read_only || options_.shareable; }
  uint64_t epoch() const override { return store_->epoch(); }
  ConfigError ReadConfig(uint16_t offset, uint8_t bytes, ConfigValue* out) const override {
    return config_->Read(offset, bytes, out);
  }
  ConfigError WriteConfig(uint16_t offset, uint8_t bytes, uint64_t value) override {
    return config_->Write(offset, bytes, value);
  }
  absl::StatusOr<std::unique_ptr<DeviceQueue>> OpenQueue(uint16_t index) override;
  LentMemory LendMemory() override;
  std::shared_ptr<void> SubscribeConfig(ConfigListener changed) override {
    return listeners_.Add(std::move(changed));
  }

 private:
  absl::Status ResizeStore(uint64_t old_bytes, uint64_t new_bytes);

  const BlkOptions options_;
  const std::shared_ptr<BlockStore> store_;
  const std::shared_ptr<const ZeroArea> zeros_;
  const uint64_t features_;
  const std::shared_ptr<BlkConfig> config_;
  std::mutex resize_mutex_;
  ConfigListeners listeners_;
};

absl::StatusOr<std::shared_ptr<BlkDevice>> MakeBlkDevice(const BlkOptions& options,
                                                         std::shared_ptr<BlockStore> store);

}  // namespace vof

#endif  // VOF_DEVICES_BLK_BLK_DEVICE_H_
