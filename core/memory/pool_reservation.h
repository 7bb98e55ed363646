// SPDX-License-Identifier: Apache-2.0
//
// Up to three buffers of a pool for one purpose: all of them or none, in fair order with others who
// want several.
//
//   PoolReservation reservation(&pool, [this] { Wake(); });
//   if (!reservation.Reserve({4096, 512, 0})) return;    // wakes when it is worth another try
//   PoolBuffer first = reservation.Take(0), second = reservation.Take(1);
//
// Who got the first buffer keeps it while it waits for the next: its places in the pool's line
// follow each other, so that only the head of the line ever holds a part and all others hold what
// they need to finish. Giving the first one back instead would let two takers pass it to each other
// for ever. One thread: the pool's.
#ifndef VOF_CORE_MEMORY_POOL_RESERVATION_H_
#define VOF_CORE_MEMORY_POOL_RESERVATION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "core/memory/buffer_pool.h"

namespace vof {

class PoolReservation {
 public:
  static constexpr size_t kBuffers = 3;
  using Sizes = std::array<uint32_t, kBuffers>;  // in bytes; 0: not needed

  // `wake` only notes that Reserve is to be called again. The pool outlives this.
  PoolReservation(BufferPool* pool, std::function<void()> wake)
      : pool_(pool), wake_(std::move(wake)) {
    for (Waiter& waiter : waiters_) waiter.reservation = this;
  }
  ~PoolReservation() { Cancel(); }
  PoolReservation(const PoolReservation&) = delete;
  PoolReservation& operator=(const PoolReservation&) = delete;

  // True: the buffers are there to be taken. False: it waits, until a call that succeeds, or
  // Cancel. Other sizes than before begin anew.
  bool Reserve(const Sizes& sizes) {
    if (!waiting_ || sizes != sizes_) Cancel();
    sizes_ = sizes;
    for (size_t i = 0; i < kBuffers; ++i) {
      if (sizes[i] == 0 || buffers_[i]) continue;
      buffers_[i] = pool_->Allocate(sizes[i], &waiters_[i]);
      if (!buffers_[i]) {
        WaitFrom(i);
        waiting_ = true;
        return false;
      }
    }
    waiting_ = false;
    return true;
  }
  // After Reserve; empty when its size was 0.
  PoolBuffer Take(size_t index) { return std::move(buffers_[index]); }

  // Nothing is wanted any more: leaves the line and gives back what it holds.
  void Cancel() {
    if (waiting_) {
      for (Waiter& waiter : waiters_) pool_->Forget(&waiter);
    }
    waiting_ = false;
    for (PoolBuffer& buffer : buffers_) {
      if (buffer) buffer.Release();
    }
  }

 private:
  struct Waiter final : PoolWaiter {
    void OnPoolMayHaveMemory() override { reservation->wake_(); }
    PoolReservation* reservation = nullptr;
  };

  void WaitFrom(size_t index) {
    for (; index < kBuffers; ++index) {
      if (sizes_[index] > 0) pool_->WaitFor(sizes_[index], &waiters_[index]);
    }
  }

  BufferPool* const pool_;
  const std::function<void()> wake_;
  Sizes sizes_ = {};  // of the last Reserve
  bool waiting_ = false;
  std::array<Waiter, kBuffers> waiters_;
  std::array<PoolBuffer, kBuffers> buffers_;
};

}  // namespace vof

#endif  // VOF_CORE_MEMORY_POOL_RESERVATION_H_
