// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/store_null.h"

#include <atomic>
#include <utility>

#include "devices/blk/random_epoch.h"
#include "devices/blk/zero_area.h"

namespace vof {
namespace {

class NullQueue final : public StoreQueue {
 public:
  explicit NullQueue(std::shared_ptr<const ZeroArea> zeros) : zeros_(std::move(zeros)) {}

  void Submit(std::span<StoreOperation* const> batch) override {
    for (StoreOperation* op : batch) {
      op->status = StoreStatus::kOk;
      if (op->verb == StoreVerb::kRead && !zeros_->LendTo(op->request, op->length_bytes)) {
        op->status = StoreStatus::kIoError;
      }
    }
  }

 private:
  const std::shared_ptr<const ZeroArea> zeros_;
};

class NullStore final : public BlockStore {
 public:
  NullStore(uint64_t size_bytes, std::shared_ptr<const ZeroArea> zeros)
      : size_bytes_(size_bytes), epoch_(RandomEpoch()), zeros_(std::move(zeros)) {}

  StoreTraits traits() const override {
    return {.synchronous = true, .lends = true, .is_volatile = true};
  }
  uint64_t size_bytes() const override { return size_bytes_; }
  uint64_t epoch() const override { return epoch_; }
  absl::Status Resize(uint64_t size_bytes) override {
    size_bytes_ = size_bytes;
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<StoreQueue>> OpenQueue() override {
    return std::make_unique<NullQueue>(zeros_);
  }

 private:
  std::atomic<uint64_t> size_bytes_;
  const uint64_t epoch_;
  const std::shared_ptr<const ZeroArea> zeros_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<BlockStore>> MakeNullStore(uint64_t size_bytes) {
  absl::StatusOr<std::shared_ptr<const ZeroArea>> zeros = ZeroArea::Create();
  if (!zeros.ok()) return zeros.status();
  return std::make_shared<NullStore>(size_bytes, *std::move(zeros));
}

}  // namespace vof
