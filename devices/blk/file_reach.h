// SPDX-License-Identifier: Apache-2.0
//
// How far into a file the changes reach that are under way, so that a shrink can wait for those
// behind the new end: a write that the kernel still works on would make the file longer again, or
// come up in space that was grown since.
//
//   FileReach::Queue mine(&reach);                  // one per queue, on its thread
//   mine.Raise(end_bytes);                          // first; then hold the change against the size
//   ... the change is over ...
//   mine.Lower(0);
//
//   size.store(new_size);                           // control thread: first
//   absl::Status s = reach.WaitWithin(new_size);    // then
//
// Either the queue sees the new size, or the shrink sees the queue: both sides store first and load
// second, sequentially consistent. A queue that is busy pays nothing, its reach being up already.
#ifndef VOF_DEVICES_BLK_FILE_REACH_H_
#define VOF_DEVICES_BLK_FILE_REACH_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "core/base/time.h"
#include "devices/blk/block_store.h"

namespace vof {

// Where an operation that changes a file ends, at most; 0 for one that changes nothing.
uint64_t EndOfChange(const StoreOperation& operation);

class FileReach {
 public:
  static constexpr Nanoseconds kLongestWait = 5 * kNanosecondsPerSecond;

  class Queue {
   public:
    explicit Queue(FileReach* all);  // `all` outlives it
    ~Queue();
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;

    // One thread, that of the queue.
    void Raise(uint64_t end_bytes) {
      if (end_bytes > this->end_bytes()) end_bytes_.store(end_bytes);
    }
    void Lower(uint64_t end_bytes);
    uint64_t end_bytes() const { return end_bytes_.load(std::memory_order_relaxed); }

   private:
    friend class FileReach;
    FileReach* const all_;
    const std::thread::id owner_;
    std::atomic<uint64_t> end_bytes_ = 0;
  };

  // Blocks until no queue reaches behind `end_bytes`. kUnavailable when that takes too long, and at
  // once when a queue of this very thread does: it could not go on meanwhile. One call at a time.
  absl::Status WaitWithin(uint64_t end_bytes, Nanoseconds longest_wait = kLongestWait);

 private:
  bool IsWithin(uint64_t end_bytes) const;
  bool OwnThreadReaches(uint64_t end_bytes) const;

  std::mutex mutex_;
  std::condition_variable lowered_;
  std::vector<Queue*> queues_;  // under mutex_
  std::atomic<bool> is_waiting_ = false;
};

}  // namespace vof

#endif  // VOF_DEVICES_BLK_FILE_REACH_H_
