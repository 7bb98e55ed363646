// SPDX-License-Identifier: Apache-2.0
//
// Payload memory of one reactor: contiguous, page-aligned buffers within one limit.
//
//   BufferPool pool(kDefaultPoolBytes);
//   PoolBuffer buffer = pool.Allocate(4097);
//   if (!buffer) { ... the queue stops reading and asks again later: pool.WaitFor(4097, &waiter)
//   ... }
//
// A request takes all it needs in one call before its payload is read, so no set of requests can
// each hold a part and wait for the rest. Buffers come in power-of-two classes and are cached when
// they return: no allocation after warm-up. When the limit is reached, cached buffers of other
// classes go back to the system first, so the limit never strands memory in the wrong class. One
// thread: the reactor's.
#ifndef VOF_CORE_MEMORY_BUFFER_POOL_H_
#define VOF_CORE_MEMORY_BUFFER_POOL_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/buffer.h"
#include "core/base/limits.h"

namespace vof {

class BufferPool;

// Exclusive use of pool memory; returns it when destroyed.
class PoolBuffer {
 public:
  PoolBuffer() = default;
  PoolBuffer(PoolBuffer&& other) noexcept { *this = static_cast<PoolBuffer&&>(other); }
  PoolBuffer& operator=(PoolBuffer&& other) noexcept;
  ~PoolBuffer() { Release(); }

  explicit operator bool() const { return data_ != nullptr; }
  std::byte* data() const { return data_; }
  size_t capacity_bytes() const;
  void Release();

 private:
  friend class BufferPool;
  BufferPool* pool_ = nullptr;
  std::byte* data_ = nullptr;
  uint8_t size_class_ = 0;
};

// Somebody who could not get memory; called from Release when it is worth trying again. Must not
// allocate inside the call, only note it and try in the next turn: until it allocates, or is
// forgotten, the memory is kept for it and everybody behind it waits.
class PoolWaiter {
 public:
  PoolWaiter() = default;
  PoolWaiter(const PoolWaiter&) = delete;  // the pool links it
  PoolWaiter& operator=(const PoolWaiter&) = delete;

  virtual void OnPoolMayHaveMemory() = 0;

 protected:
  ~PoolWaiter() = default;

 private:
  friend class BufferPool;
  PoolWaiter* next_ = nullptr;
  PoolWaiter* previous_ = nullptr;
  size_t class_bytes_ = 0;  // what it waits for; 0 while it does not wait
  bool notified_ = false;
};

class BufferPool {
 public:
  static constexpr int kMinClassShift = 9;   // 512 B
  static constexpr int kMaxClassShift = 23;  // 8 MiB: a largest request and its framing
  static constexpr int kNumClasses = kMaxClassShift - kMinClassShift + 1;
  static_assert((size_t{1} << kMaxClassShift) >= kMaxRequestBytes + kMaxFramingBytes);

  explicit BufferPool(size_t limit_bytes);  // at least kMinPoolBytes
  ~BufferPool();                            // every PoolBuffer must be back
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // Memory for `size_bytes` (0 < size <= 8 MiB), page-aligned from 4 KiB up, contents undefined; an
  // empty buffer when the limit is reached or somebody is waiting already (first come, first
  // served: `waiter` is who asks, null for those who never wait). Ends the waiting of `waiter` when
  // it succeeds.
  PoolBuffer Allocate(size_t size_bytes, PoolWaiter* waiter = nullptr);
  // Queues `waiter` for memory of `size_bytes`; served in order of asking. One that waits already
  // keeps its place and is called again (a place is per waiter, not per request).
  void WaitFor(size_t size_bytes, PoolWaiter* waiter);
  void Forget(PoolWaiter* waiter);  // no longer waits; before it is destroyed

  size_t limit_bytes() const { return limit_bytes_; }
  size_t in_use_bytes() const { return in_use_bytes_; }
  size_t cached_bytes() const { return cached_bytes_; }
  bool has_waiters() const { return first_waiter_ != nullptr; }

 private:
  friend class PoolBuffer;
  // A cached buffer holds its own list link: returning one never allocates.
  struct CachedBuffer {
    CachedBuffer* next;
  };

  static constexpr size_t ClassBytes(int size_class) {
    return size_t{1} << (size_class + kMinClassShift);
  }
  static int ClassOf(size_t size_bytes);
  void Return(std::byte* data, int size_class);
  std::byte* PopCached(int size_class);
  bool MakeRoom(size_t class_bytes);
  void NotifyFirstWaiter();

  const size_t limit_bytes_;
  size_t in_use_bytes_ = 0;
  size_t cached_bytes_ = 0;
  std::array<CachedBuffer*, kNumClasses> cached_{};
  PoolWaiter* first_waiter_ = nullptr;
  PoolWaiter* last_waiter_ = nullptr;
};

}  // namespace vof

#endif  // VOF_CORE_MEMORY_BUFFER_POOL_H_
