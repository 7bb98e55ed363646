// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/store_memory.h"

#include <utility>

#include "devices/blk/memory_queue.h"
#include "devices/blk/random_epoch.h"

namespace vof {
namespace {

class MemoryStore final : public BlockStore {
 public:
  MemoryStore(std::shared_ptr<MemoryArena> arena, const MemoryZeroing& zeroing)
      : arena_(std::move(arena)), zeroing_(zeroing), epoch_(RandomEpoch()) {}

  StoreTraits traits() const override {
    return {.synchronous = true, .lends = true, .is_volatile = true, .physical_block_bytes = 4096};
  }
  uint64_t size_bytes() const override { return arena_->size_bytes(); }
  uint64_t epoch() const override { return epoch_; }
  absl::Status Resize(uint64_t size_bytes) override { return arena_->Resize(size_bytes); }
  absl::StatusOr<std::unique_ptr<StoreQueue>> OpenQueue() override {
    return std::make_unique<MemoryQueue>(arena_, zeroing_);
  }
  LentMemory LendMemory() override {
    // In this order: a page that is in the ranges is never given back.
    std::shared_ptr<const void> keep = arena_->KeepPages();
    return {.ranges = {MutableBuffer(arena_->data(), arena_->size_bytes())},
            .keep = {std::move(keep)}};
  }

 private:
  const std::shared_ptr<MemoryArena> arena_;
  const MemoryZeroing zeroing_;
  const uint64_t epoch_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<BlockStore>> MakeMemoryStore(const MemoryArena::Options& options,
                                                            const MemoryZeroing& zeroing) {
  absl::StatusOr<std::shared_ptr<MemoryArena>> arena = MemoryArena::Create(options);
  if (!arena.ok()) return arena.status();
  return std::make_shared<MemoryStore>(*std::move(arena), zeroing);
}

}  // namespace vof
