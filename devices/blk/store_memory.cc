// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/store_memory.h"

#include <cstring>
#include <utility>

#include "devices/blk/random_epoch.h"
#include "devices/blk/store_bounds.h"

namespace vof {
namespace {

class MemoryQueue final : public StoreQueue {
 public:
  explicit MemoryQueue(std::shared_ptr<MemoryArena> arena) : arena_(std::move(arena)) {}

  void Submit(std::span<StoreOperation* const> batch) override {
    const uint64_t size_bytes = arena_->size_bytes();
    std::byte* const data = arena_->data();
    for (StoreOperation* op : batch) {
      op->status = IsInside(*op, size_bytes) ? Run(*op, data) : StoreStatus::kIoError;
    }
  }

 private:
  static StoreStatus Write(std::byte* to, BufferReader from) {
    while (from.remaining_bytes() > 0) {
      const ConstBuffer run = from.Next(SIZE_MAX);
      std::memcpy(to, run.data, run.size_bytes);
      to += run.size_bytes;
    }
    return StoreStatus::kOk;
  }

  StoreStatus Run(const StoreOperation& op, std::byte* data) {
    switch (op.verb) {
      case StoreVerb::kRead:
        return op.request->AddResult(ConstBuffer(data + op.offset_bytes, op.length_bytes))
                   ? StoreStatus::kOk
                   : StoreStatus::kIoError;
      case StoreVerb::kWrite:
        return Write(data + op.offset_bytes, op.source);
      case StoreVerb::kFlush:
        break;
      case StoreVerb::kDiscard:
      case StoreVerb::kWriteZeroes:
        for (const StoreRange& range : op.ranges) {
          arena_->Zero(range.offset_bytes, range.length_bytes,
                       op.verb == StoreVerb::kDiscard || range.may_unmap);
        }
        break;
    }
    return StoreStatus::kOk;
  }

  const std::shared_ptr<MemoryArena> arena_;
};

class MemoryStore final : public BlockStore {
 public:
  explicit MemoryStore(std::shared_ptr<MemoryArena> arena)
      : arena_(std::move(arena)), epoch_(RandomEpoch()) {}

  StoreTraits traits() const override {
    return {.synchronous = true, .lends = true, .is_volatile = true, .physical_block_bytes = 4096};
  }
  uint64_t size_bytes() const override { return arena_->size_bytes(); }
  uint64_t epoch() const override { return epoch_; }
  absl::Status Resize(uint64_t size_bytes) override { return arena_->Resize(size_bytes); }
  absl::StatusOr<std::unique_ptr<StoreQueue>> OpenQueue() override {
    return std::make_unique<MemoryQueue>(arena_);
  }

 private:
  const std::shared_ptr<MemoryArena> arena_;
  const uint64_t epoch_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<BlockStore>> MakeMemoryStore(const MemoryArena::Options& options) {
  absl::StatusOr<std::shared_ptr<MemoryArena>> arena = MemoryArena::Create(options);
  if (!arena.ok()) return arena.status();
  return std::make_shared<MemoryStore>(*std::move(arena));
}

}  // namespace vof
