// SPDX-License-Identifier: Apache-2.0
//
// The data path of one queue on a file: takes store operations, drives each through its system
// calls on an io_uring of its own.
//
//   FileQueue queue(file, zeros);      // MakeFileStore(...)->OpenQueue() does this
//   if (absl::Status s = queue.Open(); !s.ok()) ...
//
// One thread. One io_uring_enter per batch. Nothing allocates once the pools have grown to the
// deepest queue. A template over the ring, so that tests can have one that fails.
#ifndef VOF_DEVICES_BLK_FILE_QUEUE_H_
#define VOF_DEVICES_BLK_FILE_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "devices/blk/block_store.h"
#include "devices/blk/bounce_pool.h"
#include "devices/blk/file_handle.h"
#include "devices/blk/file_operation.h"
#include "devices/blk/file_reach.h"
#include "devices/blk/io_ring.h"
#include "devices/blk/store_bounds.h"
#include "devices/blk/zero_area.h"

namespace vof {

template <typename Ring>
class BasicFileQueue final : public StoreQueue {
 public:
  BasicFileQueue(std::shared_ptr<FileHandle> file, std::shared_ptr<const ZeroArea> zeros);
  // Waits for what is in flight, if there is anything against the rule: the kernel still writes to
  // it.
  ~BasicFileQueue() override;

  // Once, before anything is submitted, on the thread that will use it. See IoRing::Open.
  absl::Status Open() { return ring_.Open(file_->fd()); }

  void Submit(std::span<StoreOperation* const> batch) override;
  size_t Reap(std::span<StoreOperation*> done) override;
  int wait_fd() const override;
  void CancelAll() override;

  Ring* ring() { return &ring_; }  // for tests

 private:
  struct Slot {
    FileOperation file_operation;
    uint64_t change_end_bytes = 0;  // while it is under way
    Slot* next = nullptr;
  };
  // First in, first out, linked through the slots.
  class SlotList {
   public:
    bool empty() const { return first_ == nullptr; }
    void Push(Slot* slot);
    Slot* front() const { return first_; }
    Slot* Pop();

   private:
    Slot* first_ = nullptr;
    Slot* last_ = nullptr;
  };
  // 4 MiB: enough to keep a device busy with unaligned requests.
  static constexpr size_t kMaxBounceChunks = 16;
  static constexpr size_t kSlotsPerBlock = 64;

  void Start(Slot* slot, StoreOperation* operation);
  void Finish(Slot* slot);
  // Hands over to the kernel what it takes.
  void Pump();
  void FailReady(StoreStatus status);
  void OnResult(Slot* slot, int32_t result);
  Slot* AcquireSlot();
  // Lowers the reach to what is still under way, when somebody may wait for it.
  void SettleReach();

  const std::shared_ptr<FileHandle> file_;
  const std::shared_ptr<const ZeroArea> zeros_;
  FileReach::Queue reach_;
  size_t changes_under_way_ = 0;
  FileRules rules_;
  Ring ring_;
  SlotList ready_;     // a step to be submitted
  SlotList starved_;   // ready, but for bounce memory
  SlotList finished_;  // to be handed out by Reap
  SlotList free_;
  BouncePool<kBounceBytes, kMaxBounceChunks> bounce_;
  std::vector<std::unique_ptr<Slot[]>> blocks_;
};

using FileQueue = BasicFileQueue<IoRing>;

// --- Implementation ---

template <typename Ring>
void BasicFileQueue<Ring>::SlotList::Push(Slot* slot) {
  slot->next = nullptr;
  (first_ == nullptr ? first_ : last_->next) = slot;
  last_ = slot;
}

template <typename Ring>
typename BasicFileQueue<Ring>::Slot* BasicFileQueue<Ring>::SlotList::Pop() {
  Slot* slot = first_;
  first_ = slot->next;
  return slot;
}

template <typename Ring>
BasicFileQueue<Ring>::BasicFileQueue(std::shared_ptr<FileHandle> file,
                                     std::shared_ptr<const ZeroArea> zeros)
    : file_(std::move(file)), zeros_(std::move(zeros)), reach_(file_->reach()) {
  rules_.direct = file_->direct();
  rules_.alignment = file_->alignment();
  rules_.zeros = zeros_.get();
  rules_.on_error = &file_->on_error();
  rules_.can_punch = file_->can_discard();
}

template <typename Ring>
BasicFileQueue<Ring>::~BasicFileQueue() {
  ring_.CancelAll();
  while (ring_.in_flight() > 0 && ring_.Submit()) {
    ring_.Wait();
    ring_.Reap([](void*, int32_t) {});
  }
}

template <typename Ring>
typename BasicFileQueue<Ring>::Slot* BasicFileQueue<Ring>::AcquireSlot() {
  if (free_.empty()) {
    Slot* block = blocks_.emplace_back(new Slot[kSlotsPerBlock]).get();
    for (size_t i = 0; i < kSlotsPerBlock; ++i) free_.Push(&block[i]);
  }
  return free_.Pop();
}

template <typename Ring>
void BasicFileQueue<Ring>::Submit(std::span<StoreOperation* const> batch) {
  for (const StoreOperation* operation : batch) reach_.Raise(EndOfChange(*operation));
  for (StoreOperation* operation : batch) Start(AcquireSlot(), operation);
  Pump();
  SettleReach();
}

template <typename Ring>
void BasicFileQueue<Ring>::Start(Slot* slot, StoreOperation* operation) {
  bool finished = slot->file_operation.Start(operation, &rules_);
  // A write behind the end would make the file longer again.
  const bool flush_is_hopeless = operation->verb == StoreVerb::kFlush && file_->lost_writes();
  if (!IsInside(*operation, file_->size_bytes()) || flush_is_hopeless) {
    slot->file_operation.Abort(StoreStatus::kIoError);
    finished = true;
  } else if (file_->IsCutOff(*operation)) {
    slot->file_operation.Abort(StoreStatus::kIoError, /*error=*/0);
    finished = true;
  }
  if (finished) return finished_.Push(slot);
  slot->change_end_bytes = EndOfChange(*operation);
  if (slot->change_end_bytes != 0) ++changes_under_way_;
  ready_.Push(slot);
}

template <typename Ring>
void BasicFileQueue<Ring>::SettleReach() {
  if (reach_.end_bytes() == 0) return;
  if (changes_under_way_ == 0) return reach_.Lower(0);
  if (reach_.end_bytes() <= file_->size_bytes()) return;
  uint64_t end_bytes = 0;
  for (const auto& block : blocks_) {
    for (size_t i = 0; i < kSlotsPerBlock; ++i) {
      end_bytes = std::max(end_bytes, block[i].change_end_bytes);
    }
  }
  reach_.Lower(end_bytes);
}

template <typename Ring>
void BasicFileQueue<Ring>::Pump() {
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

template <typename Ring>
void BasicFileQueue<Ring>::FailReady(StoreStatus status) {
  for (SlotList* list : {&ready_, &starved_}) {
    while (!list->empty()) {
      Slot* slot = list->Pop();
      slot->file_operation.Abort(status);
      Finish(slot);
    }
  }
}

template <typename Ring>
void BasicFileQueue<Ring>::OnResult(Slot* slot, int32_t result) {
  if (slot->file_operation.OnResult(result)) {
    if (slot->file_operation.sync_failed()) file_->SetLostWrites();
    if (const auto end = slot->file_operation.end_found_bytes()) file_->NoteEnd(*end);
    Finish(slot);
  } else {
    ready_.Push(slot);
  }
}

template <typename Ring>
void BasicFileQueue<Ring>::Finish(Slot* slot) {
  const MutableBuffer memory = slot->file_operation.TakeBounce();
  if (memory.size_bytes != 0) {
    bounce_.Return(memory);
    if (!starved_.empty()) ready_.Push(starved_.Pop());
  }
  if (slot->change_end_bytes != 0) --changes_under_way_;
  slot->change_end_bytes = 0;
  finished_.Push(slot);
}

template <typename Ring>
size_t BasicFileQueue<Ring>::Reap(std::span<StoreOperation*> done) {
  ring_.Reap([this](void* token, int32_t result) { OnResult(static_cast<Slot*>(token), result); });
  Pump();
  SettleReach();
  size_t count = 0;
  while (count < done.size() && !finished_.empty()) {
    Slot* slot = finished_.Pop();
    done[count++] = slot->file_operation.operation();
    free_.Push(slot);
  }
  return count;
}

template <typename Ring>
int BasicFileQueue<Ring>::wait_fd() const {
  // No completion will come of what the kernel does not have yet: it must be seen to by polling.
  const bool must_poll = !finished_.empty() || ring_.in_flight() == 0 || ring_.has_unsubmitted();
  return must_poll ? -1 : ring_.wait_fd();
}

template <typename Ring>
void BasicFileQueue<Ring>::CancelAll() {
  FailReady(StoreStatus::kCancelled);
  ring_.CancelAll();
  SettleReach();
}

}  // namespace vof

#endif  // VOF_DEVICES_BLK_FILE_QUEUE_H_
