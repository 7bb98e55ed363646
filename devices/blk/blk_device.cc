// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/blk_device.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "devices/blk/blk_queue.h"

namespace vof {

BlkDevice::BlkDevice(const BlkOptions& options, std::shared_ptr<BlockStore> store,
                     std::shared_ptr<const ZeroArea> zeros)
    : options_(options),
      store_(std::move(store)),
      zeros_(std::move(zeros)),
      features_(BlkFeatures(options_, store_->traits())),
      config_(std::make_shared<BlkConfig>(
          MakeBlkConfigSpace(options_, store_->traits(), store_->size_bytes()),
          /*writeback_is_writable=*/(features_ & kBlkFeatureConfigWce) != 0)) {}

absl::Status BlkDevice::Resize(uint64_t new_capacity_bytes) {
  if (absl::Status s = ValidateBlkSize(new_capacity_bytes, options_.block_size_bytes); !s.ok()) {
    return s;
  }
  {
    const std::lock_guard lock(resize_mutex_);
    const uint64_t old_bytes = capacity_bytes();
    if (new_capacity_bytes == old_bytes) return absl::OkStatus();
    if (absl::Status s = ResizeStore(old_bytes, new_capacity_bytes); !s.ok()) return s;
  }
  // Without the lock, so that a listener may resize again.
  listeners_.Notify();
  return absl::OkStatus();
}

// Drivers never see sectors that the store does not have: the store grows before the device, and
// shrinks after it.
absl::Status BlkDevice::ResizeStore(uint64_t old_bytes, uint64_t new_bytes) {
  if (new_bytes > old_bytes) {
    if (absl::Status s = store_->Resize(new_bytes); !s.ok()) return s;
    config_->SetCapacity(new_bytes / kSectorBytes);
    return absl::OkStatus();
  }
  config_->SetCapacity(new_bytes / kSectorBytes);
  const absl::Status shrunk = store_->Resize(new_bytes);
  if (!shrunk.ok()) config_->SetCapacity(old_bytes / kSectorBytes);
  return shrunk;
}

absl::StatusOr<std::unique_ptr<DeviceQueue>> BlkDevice::OpenQueue(uint16_t index) {
  if (index >= options_.num_queues) {
    return absl::OutOfRangeError(
        absl::StrCat("queue ", index, " of a block device with ", options_.num_queues, " queues"));
  }
  absl::StatusOr<std::unique_ptr<StoreQueue>> store_queue = store_->OpenQueue();
  if (!store_queue.ok()) return store_queue.status();
  return std::make_unique<BlkQueue>(BlkQueue::Setup{.config = config_,
                                                    .zeros = zeros_,
                                                    .traits = store_->traits(),
                                                    .offered_features = features_,
                                                    .serial = options_.serial},
                                    *std::move(store_queue));
}

// What the store lends, and the zeros of answers without data.
LentMemory BlkDevice::LendMemory() {
  LentMemory lent = store_->LendMemory();
  if (lent.ranges.empty()) return {};
  LentMemory zeros = zeros_->LendMemory();
  lent.ranges.insert(lent.ranges.end(), zeros.ranges.begin(), zeros.ranges.end());
  lent.keep.insert(lent.keep.end(), zeros.keep.begin(), zeros.keep.end());
  return lent;
}

absl::StatusOr<std::shared_ptr<BlkDevice>> MakeBlkDevice(const BlkOptions& options,
                                                         std::shared_ptr<BlockStore> store) {
  if (absl::Status s = ValidateBlkOptions(options, store->traits(), store->size_bytes()); !s.ok()) {
    return s;
  }
  absl::StatusOr<std::shared_ptr<const ZeroArea>> zeros = ZeroArea::Create();
  if (!zeros.ok()) return zeros.status();
  return std::make_shared<BlkDevice>(options, std::move(store), *std::move(zeros));
}

}  // namespace vof
