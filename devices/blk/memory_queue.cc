// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/memory_queue.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/time.h"
#include "devices/blk/store_bounds.h"

namespace vof {
namespace {

// Dropping used pages takes about 50 us per MiB, zeroing them several times that.
constexpr uint64_t kUnmapDiscount = 8;
// Steps end where huge pages do, so that whole ones are dropped.
constexpr uint64_t kUnmapStepBytes = 2u << 20;
constexpr uint64_t kZeroStepBytes = 64u << 10;

// Of all queues of a thread: there may be thousands, and a byte may cost a page of 2 MiB.
constexpr WorkTime::Rule kShareOfThread = {.share = 300'000, .window = kNanosecondsPerMillisecond};
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): nothing else knows the thread
constinit thread_local WorkTime time_of_thread(kShareOfThread);

StoreStatus Write(std::byte* to, BufferReader from) {
  while (from.remaining_bytes() > 0) {
    const ConstBuffer run = from.Next(SIZE_MAX);
    std::memcpy(to, run.data, run.size_bytes);
    to += run.size_bytes;
  }
  return StoreStatus::kOk;
}

StoreOperation* Next(const StoreOperation& operation) {
  return reinterpret_cast<StoreOperation*>(static_cast<uintptr_t>(operation.store_word));
}

}  // namespace

MemoryQueue::MemoryQueue(std::shared_ptr<MemoryArena> arena, const MemoryZeroing& zeroing)
    : arena_(std::move(arena)), zeroing_(zeroing) {}

// A queue belongs to a reactor, which may be made on another thread than it runs on.
WorkTime& MemoryQueue::time() const {
  return zeroing_.time != nullptr ? *zeroing_.time : time_of_thread;
}

// The first byte of a huge page may cost all of it.
uint64_t MemoryQueue::CostOf(uint64_t length_bytes, bool may_unmap) const {
  const uint64_t cost_bytes = may_unmap ? length_bytes / kUnmapDiscount + 1 : length_bytes;
  return arena_->has_huge_pages() ? std::max(cost_bytes, kZeroBytesAtOnce) : cost_bytes;
}

void MemoryQueue::ZeroNow(const StoreOperation& operation) {
  for (const StoreRange& range : operation.ranges) {
    arena_->Zero(range.offset_bytes, range.length_bytes, MayUnmap(operation, range));
  }
}

void MemoryQueue::Submit(std::span<StoreOperation* const> batch) {
  const uint64_t size_bytes = arena_->size_bytes();
  for (StoreOperation* operation : batch) {
    operation->status = IsInside(*operation, size_bytes) ? Run(operation) : StoreStatus::kIoError;
  }
}

StoreStatus MemoryQueue::Run(StoreOperation* operation) {
  switch (operation->verb) {
    case StoreVerb::kRead: {
      const std::byte* const place = arena_->data() + operation->offset_bytes;
      return operation->request->AddResult(ConstBuffer(place, operation->length_bytes))
                 ? StoreStatus::kOk
                 : StoreStatus::kIoError;
    }
    case StoreVerb::kWrite:
      return Write(arena_->data() + operation->offset_bytes, operation->source);
    case StoreVerb::kFlush:
      break;
    case StoreVerb::kDiscard:
    case StoreVerb::kWriteZeroes:
      return RunZero(operation);
  }
  return StoreStatus::kOk;
}

StoreStatus MemoryQueue::RunZero(StoreOperation* operation) {
  if (zeroing_.all_at_once) {
    ZeroNow(*operation);
    return StoreStatus::kOk;
  }
  uint64_t cost_bytes = 0;
  for (const StoreRange& range : operation->ranges) {
    cost_bytes += CostOf(range.length_bytes, MayUnmap(*operation, range));
  }
  const MonotonicTime begin = MonotonicNow();
  if (first_ == nullptr && cost_bytes <= budget_bytes_ && time().Begin(begin)) {
    budget_bytes_ -= cost_bytes;
    ZeroNow(*operation);
    time().End(MonotonicNow() - begin);
    return StoreStatus::kOk;
  }
  operation->store_word = 0;
  if (last_ != nullptr) last_->store_word = reinterpret_cast<uintptr_t>(operation);
  if (first_ == nullptr) first_ = operation;
  last_ = operation;
  return StoreStatus::kPending;
}

size_t MemoryQueue::Reap(std::span<StoreOperation*> done) {
  budget_bytes_ = kZeroBytesAtOnce;
  size_t count = 0;
  while (first_ != nullptr && count < done.size() && Advance(first_)) {
    StoreOperation* const finished = first_;
    first_ = Next(*finished);
    if (first_ == nullptr) last_ = nullptr;
    range_ = 0;
    done_bytes_ = 0;
    if (finished->status == StoreStatus::kPending) finished->status = StoreStatus::kOk;
    done[count++] = finished;
  }
  return count;
}

bool MemoryQueue::MayUnmap(const StoreOperation& operation, const StoreRange& range) const {
  return (operation.verb == StoreVerb::kDiscard || range.may_unmap) && arena_->can_unmap();
}

bool MemoryQueue::Advance(StoreOperation* operation) {
  if (operation->status == StoreStatus::kCancelled) return true;
  while (range_ < operation->ranges.size()) {
    const StoreRange& range = operation->ranges[range_];
    if (done_bytes_ == range.length_bytes) {
      ++range_;
      done_bytes_ = 0;
      continue;
    }
    if (budget_bytes_ == 0 || !TimedStep(range, MayUnmap(*operation, range))) return false;
  }
  return true;
}

bool MemoryQueue::TimedStep(const StoreRange& range, bool may_unmap) {
  const MonotonicTime begin = MonotonicNow();
  if (!time().Begin(begin)) return false;
  budget_bytes_ -= std::min(budget_bytes_, ZeroStep(range, may_unmap));
  time().End(MonotonicNow() - begin);
  return true;
}

uint64_t MemoryQueue::ZeroStep(const StoreRange& range, bool may_unmap) {
  const uint64_t from_bytes = range.offset_bytes + done_bytes_;
  const uint64_t left_bytes = range.length_bytes - done_bytes_;
  const uint64_t most_bytes = may_unmap ? kUnmapStepBytes - from_bytes % kUnmapStepBytes
                                        : std::min(budget_bytes_, kZeroStepBytes);
  const uint64_t step_bytes = std::min(left_bytes, most_bytes);
  arena_->Zero(from_bytes, step_bytes, may_unmap);
  done_bytes_ += step_bytes;
  return CostOf(step_bytes, may_unmap);
}

void MemoryQueue::CancelAll() {
  for (StoreOperation* operation = first_; operation != nullptr; operation = Next(*operation)) {
    operation->status = StoreStatus::kCancelled;
  }
}

}  // namespace vof
