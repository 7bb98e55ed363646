// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/file_queue.h"

#include <algorithm>
#include <utility>

namespace vof {

void FileQueue::SlotList::Push(Slot* slot) {
  slot->next = nullptr;
  (first_ == nullptr ? first_ : last_->next) = slot;
  last_ = slot;
}

FileQueue::Slot* FileQueue::SlotList::Pop() {
  Slot* slot = first_;
  first_ = slot->next;
  return slot;
}

FileQueue::FileQueue(std::shared_ptr<FileHandle> file, std::shared_ptr<const ZeroArea> zeros)
    : file_(std::move(file)), zeros_(std::move(zeros)) {
  rules_.direct = file_->direct();
  rules_.alignment = file_->alignment();
  rules_.zeros = zeros_.get();
  rules_.can_punch = file_->can_discard();
}

FileQueue::~FileQueue() {
  ring_.CancelAll();
  while (ring_.in_flight() > 0 && ring_.Submit()) {
    ring_.Wait();
    ring_.Reap([](void*, int32_t) {});
  }
}

FileQueue::Slot* FileQueue::AcquireSlot() {
  if (free_.empty()) {
    Slot* block = blocks_.emplace_back(new Slot[kSlotsPerBlock]).get();
    for (size_t i = 0; i < kSlotsPerBlock; ++i) free_.Push(&block[i]);
  }
  return free_.Pop();
}

// The device has checked the ranges, but the disk may have shrunk since: a write would make the
// file longer again.
bool FileQueue::IsInside(const StoreOperation& operation) const {
  const uint64_t size_bytes = file_->size_bytes();
  const auto inside = [size_bytes](uint64_t offset, uint64_t length) {
    return offset <= size_bytes && length <= size_bytes - offset;
  };
  switch (operation.verb) {
    case StoreVerb::kRead:
    case StoreVerb::kWrite:
      return inside(operation.offset_bytes, operation.length_bytes);
    case StoreVerb::kFlush:
      return true;
    default:
      return std::all_of(
          operation.ranges.begin(), operation.ranges.end(),
          [&](const StoreRange& r) { return inside(r.offset_bytes, r.length_bytes); });
  }
}

void FileQueue::Submit(std::span<StoreOperation* const> batch) {
  for (StoreOperation* operation : batch) Start(AcquireSlot(), operation);
  Pump();
}

void FileQueue::Start(Slot* slot, StoreOperation* operation) {
  if (slot->file_operation.Start(operation, &rules_)) {
    finished_.Push(slot);
    return;
  }
  const bool flush_is_hopeless = operation->verb == StoreVerb::kFlush && file_->lost_writes();
  if (!IsInside(*operation) || flush_is_hopeless) {
    slot->file_operation.Abort(StoreStatus::kIoError);
    finished_.Push(slot);
    return;
  }
  ready_.Push(slot);
}

void FileQueue::Pump() {
  if (!ready_.empty() && !ring_.is_open() && !ring_.Open(file_->fd())) {
    FailReady(StoreStatus::kIoError);
    return;
  }
  while (!ready_.empty()) {
    FileOperation& operation = ready_.front()->file_operation;
    if (operation.needs_bounce()) {
      operation.SetBounce(bounce_.Take());
      if (operation.needs_bounce()) {
        starved_.Push(ready_.Pop());
        continue;
      }
    }
    Slot* slot = ready_.front();
    if (!ring_.Prepare(operation.Next(), slot)) break;
    ready_.Pop();
  }
  ring_.Submit();
}

void FileQueue::FailReady(StoreStatus status) {
  for (SlotList* list : {&ready_, &starved_}) {
    while (!list->empty()) {
      Slot* slot = list->Pop();
      slot->file_operation.Abort(status);
      Finish(slot);
    }
  }
}

void FileQueue::OnResult(Slot* slot, int32_t result) {
  if (slot->file_operation.OnResult(result)) {
    if (slot->file_operation.sync_failed()) file_->SetLostWrites();
    Finish(slot);
  } else {
    ready_.Push(slot);
  }
}

void FileQueue::Finish(Slot* slot) {
  const MutableBuffer memory = slot->file_operation.TakeBounce();
  if (memory.size_bytes != 0) {
    bounce_.Return(memory);
    if (!starved_.empty()) ready_.Push(starved_.Pop());
  }
  finished_.Push(slot);
}

size_t FileQueue::Reap(std::span<StoreOperation*> done) {
  ring_.Reap([this](void* token, int32_t result) { OnResult(static_cast<Slot*>(token), result); });
  Pump();
  size_t count = 0;
  while (count < done.size() && !finished_.empty()) {
    Slot* slot = finished_.Pop();
    done[count++] = slot->file_operation.operation();
    free_.Push(slot);
  }
  return count;
}

int FileQueue::wait_fd() const {
  // No completion will come of what the kernel does not have yet: it must be seen to by polling.
  const bool must_poll = !finished_.empty() || ring_.in_flight() == 0 || ring_.has_unsubmitted();
  return must_poll ? -1 : ring_.wait_fd();
}

void FileQueue::CancelAll() {
  FailReady(StoreStatus::kCancelled);
  ring_.CancelAll();
}

}  // namespace vof
