// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/store_memory.h"

#include <cstring>
#include <utility>

#include "devices/blk/random_epoch.h"

namespace vof {
namespace {

class MemoryQueue final : public StoreQueue {
 public:
  explicit MemoryQueue(std::shared_ptr<MemoryArena> arena) : arena_(std::move(arena)) {}

  void Submit(std::span<StoreOperation* const> batch) override {
    const uint64_t size_bytes = arena_->size_bytes();
    std::byte* const data = arena_->data();
    for (StoreOperation* op : batch) {
      // The device has checked the range, but the disk may have shrunk since.
      const bool inside =
          op->offset_bytes <= size_bytes && op->length_bytes <= size_bytes - op->offset_bytes;
      switch (op->verb) {
        case StoreVerb::kRead:
          op->status = inside && op->request->AddResult(
                                     ConstBuffer(data + op->offset_bytes, op->length_bytes))
                           ? StoreStatus::kOk
                           : StoreStatus::kIoError;
          break;
        case StoreVerb::kWrite:
          op->status = inside ? Write(data + op->offset_bytes, op->source) : StoreStatus::kIoError;
          break;
        case StoreVerb::kFlush:
          op->status = StoreStatus::kOk;
          break;
        case StoreVerb::kDiscard:
        case StoreVerb::kWriteZeroes:
          op->status = ZeroRanges(*op, size_bytes);
          break;
      }
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

  StoreStatus ZeroRanges(const StoreOperation& op, uint64_t size_bytes) {
    for (const StoreRange& range : op.ranges) {
      if (range.offset_bytes > size_bytes || range.length_bytes > size_bytes - range.offset_bytes) {
        return StoreStatus::kIoError;
      }
    }
    for (const StoreRange& range : op.ranges) {
      arena_->Zero(range.offset_bytes, range.length_bytes,
                   op.verb == StoreVerb::kDiscard || range.may_unmap);
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
