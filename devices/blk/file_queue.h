// SPDX-License-Identifier: Apache-2.0
//
// The data path of one queue on a file: takes store operations, drives each through its system
// calls on an io_uring of its own.
//
//   FileQueue queue(file, zeros);      // MakeFileStore(...)->OpenQueue() does this
//
// One thread. One io_uring_enter per batch. Nothing allocates once the pools have grown to the
// deepest queue.
#ifndef VOF_DEVICES_BLK_FILE_QUEUE_H_
#define VOF_DEVICES_BLK_FILE_QUEUE_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "devices/blk/block_store.h"
#include "devices/blk/bounce_pool.h"
#include "devices/blk/file_handle.h"
#include "devices/blk/file_operation.h"
#include "devices/blk/io_ring.h"
#include "devices/blk/zero_area.h"

namespace vof {

class FileQueue final : public StoreQueue {
 public:
  FileQueue(std::shared_ptr<FileHandle> file, std::shared_ptr<const ZeroArea> zeros);
  // Waits for what is in flight, if there is anything against the rule: the kernel still writes to
  // it.
  ~FileQueue() override;

  void Submit(std::span<StoreOperation* const> batch) override;
  size_t Reap(std::span<StoreOperation*> done) override;
  int wait_fd() const override;
  void CancelAll() override;

 private:
  struct Slot {
    FileOperation file_operation;
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

  bool IsInside(const StoreOperation& operation) const;
  void Start(Slot* slot, StoreOperation* operation);
  void Finish(Slot* slot);
  // Hands over to the kernel what it takes.
  void Pump();
  void FailReady(StoreStatus status);
  void OnResult(Slot* slot, int32_t result);
  Slot* AcquireSlot();

  const std::shared_ptr<FileHandle> file_;
  const std::shared_ptr<const ZeroArea> zeros_;
  FileRules rules_;
  IoRing ring_;
  SlotList ready_;     // a step to be submitted
  SlotList starved_;   // ready, but for bounce memory
  SlotList finished_;  // to be handed out by Reap
  SlotList free_;
  BouncePool<kBounceBytes, kMaxBounceChunks> bounce_;
  std::vector<std::unique_ptr<Slot[]>> blocks_;
};

}  // namespace vof

#endif  // VOF_DEVICES_BLK_FILE_QUEUE_H_
