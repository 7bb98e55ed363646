// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/file_reach.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"

namespace vof {
namespace {

uint64_t EndOf(uint64_t offset_bytes, uint64_t length_bytes) {
  return offset_bytes + std::min(length_bytes, UINT64_MAX - offset_bytes);
}

}  // namespace

uint64_t EndOfChange(const StoreOperation& operation) {
  uint64_t end_bytes = 0;
  switch (operation.verb) {
    case StoreVerb::kRead:
    case StoreVerb::kFlush:
      break;
    case StoreVerb::kWrite:
      return EndOf(operation.offset_bytes, operation.length_bytes);
    case StoreVerb::kDiscard:
    case StoreVerb::kWriteZeroes:
      for (const StoreRange& range : operation.ranges) {
        end_bytes = std::max(end_bytes, EndOf(range.offset_bytes, range.length_bytes));
      }
      break;
  }
  return end_bytes;
}

FileReach::Queue::Queue(FileReach* all) : all_(all), owner_(std::this_thread::get_id()) {
  const std::lock_guard lock(all_->mutex_);
  all_->queues_.push_back(this);
}

FileReach::Queue::~Queue() {
  const std::lock_guard lock(all_->mutex_);
  all_->queues_.erase(std::find(all_->queues_.begin(), all_->queues_.end(), this));
  all_->lowered_.notify_all();
}

void FileReach::Queue::Lower(uint64_t end_bytes) {
  end_bytes_.store(end_bytes);
  if (!all_->is_waiting_.load()) return;
  const std::lock_guard lock(all_->mutex_);
  all_->lowered_.notify_all();
}

bool FileReach::IsWithin(uint64_t end_bytes) const {
  return std::all_of(queues_.begin(), queues_.end(), [end_bytes](const Queue* queue) {
    return queue->end_bytes_.load() <= end_bytes;
  });
}

bool FileReach::OwnThreadReaches(uint64_t end_bytes) const {
  return std::any_of(queues_.begin(), queues_.end(), [end_bytes](const Queue* queue) {
    return queue->owner_ == std::this_thread::get_id() && queue->end_bytes_.load() > end_bytes;
  });
}

absl::Status FileReach::WaitWithin(uint64_t end_bytes, Nanoseconds longest_wait) {
  std::unique_lock lock(mutex_);
  if (OwnThreadReaches(end_bytes)) {
    return absl::UnavailableError(
        "this thread's own queue has requests under way behind the new end; resize from another "
        "thread, or when they have completed");
  }
  is_waiting_.store(true);
  const bool within = lowered_.wait_for(lock, std::chrono::nanoseconds(longest_wait),
                                        [&] { return IsWithin(end_bytes); });
  is_waiting_.store(false);
  if (within) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("requests behind the new end were still under way after ",
                   longest_wait / kNanosecondsPerMillisecond, " ms; try again"));
}

}  // namespace vof
