// SPDX-License-Identifier: Apache-2.0
//
// The data path of one queue on a memory disk.
//
//   MemoryQueue queue(arena);        // MakeMemoryStore(...)->OpenQueue() does this
//
// Reads are lent and writes are copied, as many bytes as came over the wire. Zeroing and discarding
// take 24 bytes of a request for as many MiB of memory: what is more than kZeroBytesAtOnce is done
// in steps, some for each Reap, and all queues of a thread together take a third of its time for
// them, so that nobody else has to wait.
#ifndef VOF_DEVICES_BLK_MEMORY_QUEUE_H_
#define VOF_DEVICES_BLK_MEMORY_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "devices/blk/block_store.h"
#include "devices/blk/memory_arena.h"
#include "devices/blk/work_time.h"

namespace vof {

// Of memory that is written; pages are dropped at an eighth of that cost.
inline constexpr uint64_t kZeroBytesAtOnce = 256u << 10;

struct MemoryZeroing {
  // For simulators, in which nobody waits and time does not count.
  bool all_at_once = false;
  // Null for that of the calling thread.
  WorkTime* time = nullptr;
};

class MemoryQueue final : public StoreQueue {
 public:
  explicit MemoryQueue(std::shared_ptr<MemoryArena> arena, const MemoryZeroing& zeroing = {});

  void Submit(std::span<StoreOperation* const> batch) override;
  size_t Reap(std::span<StoreOperation*> done) override;
  void CancelAll() override;

 private:
  StoreStatus Run(StoreOperation* operation);
  StoreStatus RunZero(StoreOperation* operation);
  bool MayUnmap(const StoreOperation& operation, const StoreRange& range) const;
  // Goes on with the oldest pending operation. False: the budget is used up before its end.
  bool Advance(StoreOperation* operation);
  // One step of a range, and what it costs.
  uint64_t ZeroStep(const StoreRange& range, bool may_unmap);

  // One step within the share of time. False: it is used up.
  bool TimedStep(const StoreRange& range, bool may_unmap);
  WorkTime& time() const;
  void ZeroNow(const StoreOperation& operation);
  uint64_t CostOf(uint64_t length_bytes, bool may_unmap) const;

  const std::shared_ptr<MemoryArena> arena_;
  const MemoryZeroing zeroing_;
  uint64_t budget_bytes_ = kZeroBytesAtOnce;  // until the next Reap
  // Pending ones, oldest first, linked by their `store_word`.
  StoreOperation* first_ = nullptr;
  StoreOperation* last_ = nullptr;
  size_t range_ = 0;         // of the oldest
  uint64_t done_bytes_ = 0;  // of that range
};

}  // namespace vof

#endif  // VOF_DEVICES_BLK_MEMORY_QUEUE_H_
