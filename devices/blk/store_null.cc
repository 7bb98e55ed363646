// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/store_null.h"

#include <atomic>
#include <utility>

#include "devices/blk/random_epoch.h"
#include "devices/blk/store_bounds.h"
#include "devices/blk/zero_area.h"

namespace vof {
namespace {

// What queues need of the store, which they may outlive.
struct NullDisk {
  std::atomic<uint64_t> size_bytes;
  std::shared_ptr<const ZeroArea> zeros;
};

class NullQueue final : public StoreQueue {
 public:
  explicit NullQueue(std::shared_ptr<const NullDisk> disk) : disk_(std::move(disk)) {}

  void Submit(std::span<StoreOperation* const> batch) override {
    const uint64_t size_bytes = disk_->size_bytes;
    for (StoreOperation* op : batch) {
      const bool done =
          IsInside(*op, size_bytes) &&
          (op->verb != StoreVerb::kRead || disk_->zeros->LendTo(op->request, op->length_bytes));
      op->status = done ? StoreStatus::kOk : StoreStatus::kIoError;
    }
  }

 private:
  const std::shared_ptr<const NullDisk> disk_;
};

class NullStore final : public BlockStore {
 public:
  explicit NullStore(std::shared_ptr<NullDisk> disk)
      : disk_(std::move(disk)), epoch_(RandomEpoch()) {}

  StoreTraits traits() const override {
    return {.synchronous = true, .lends = true, .is_volatile = true};
  }
  uint64_t size_bytes() const override { return disk_->size_bytes; }
  uint64_t epoch() const override { return epoch_; }
  absl::Status Resize(uint64_t size_bytes) override {
    disk_->size_bytes = size_bytes;
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<StoreQueue>> OpenQueue() override {
    return std::make_unique<NullQueue>(disk_);
  }
  LentMemory LendMemory() override { return disk_->zeros->LendMemory(); }

 private:
  const std::shared_ptr<NullDisk> disk_;
  const uint64_t epoch_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<BlockStore>> MakeNullStore(uint64_t size_bytes) {
  absl::StatusOr<std::shared_ptr<const ZeroArea>> zeros = ZeroArea::Create();
  if (!zeros.ok()) return zeros.status();
  auto disk = std::make_shared<NullDisk>();
  disk->size_bytes = size_bytes;
  disk->zeros = *std::move(zeros);
  return std::make_shared<NullStore>(std::move(disk));
}

}  // namespace vof
