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
// each hold a part and wait for the rest. All buffers are cut from one slab, which fabrics register
// once; they come in power-of-two classes, and free neighbours merge, so that no memory is stranded
// in the wrong class. A few buffers of each class are kept as they are for the next request.
// Nothing allocates after construction. What a peak used and nobody needs goes back to the system:
// as buffers return, or by Trim.
// One thread: the reactor's.
#ifndef VOF_CORE_MEMORY_BUFFER_POOL_H_
#define VOF_CORE_MEMORY_BUFFER_POOL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/limits.h"
#include "core/memory/pool_slab.h"

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
  static constexpr int kMinClassShift = PoolSlab::kMinClassShift;
  static constexpr int kMaxClassShift = PoolSlab::kMaxClassShift;  // a largest request, framed
  static constexpr int kNumClasses = PoolSlab::kNumClasses;
  static_assert((size_t{1} << kMaxClassShift) >= kMaxRequestBytes + kMaxFramingBytes);

  // Buffers of a class that are kept as they are: the requests of a deep queue, in 8 MiB at most.
  static constexpr size_t CacheLimit(int size_class) {
    const size_t limit = (size_t{1} << kMaxClassShift) / PoolSlab::ClassBytes(size_class);
    return limit < 512 ? limit : 512;
  }
  // Memory that was not needed for so many returns goes back to the system: rare enough that
  // emptying the caches (512 merges for each class in use) does not count.
  static constexpr int kReturnsPerTrim = 64 << 10;

  explicit BufferPool(size_t limit_bytes);  // at least kMinPoolBytes
  ~BufferPool();                            // every PoolBuffer must be back
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // Memory for `size_bytes` (0 < size <= 8 MiB), page-aligned from 4 KiB up, contents undefined; an
  // empty buffer when there is no block of its class, or somebody is waiting already (first come,
  // first served: `waiter` is who asks, null for those who never wait). Ends the waiting of
  // `waiter` when it succeeds.
  PoolBuffer Allocate(size_t size_bytes, PoolWaiter* waiter = nullptr);
  // Queues `waiter` for memory of `size_bytes`; served in order of asking. One that waits already
  // keeps its place and is called again (a place is per waiter, not per request).
  void WaitFor(size_t size_bytes, PoolWaiter* waiter);
  void Forget(PoolWaiter* waiter);  // no longer waits; before it is destroyed

  // All memory that buffers can ever be in, for registration with a fabric. From then on none of
  // it goes back to the system: an adapter knows it by its pages. Empty when the system had no
  // address space for it; every Allocate fails then.
  MutableBuffer slab();

  // Gives memory back to the system that was not used since the last call (or the last trim of its
  // own); for a reactor that has become idle, since the pool looks after that only as buffers
  // return.
  void Trim();

  // Whether the system had the address space; without it every Allocate fails.
  bool has_memory() const { return slab_.bytes().data != nullptr; }
  size_t limit_bytes() const { return limit_bytes_; }
  size_t in_use_bytes() const { return in_use_bytes_; }
  // Free memory that the system may have backed with pages; an upper bound.
  size_t cached_bytes() const { return slab_.resident_bytes() - in_use_bytes_; }
  bool has_waiters() const { return first_waiter_ != nullptr; }
  // What all of them wait for.
  uint64_t waiting_bytes() const { return waiting_bytes_; }

 private:
  friend class PoolBuffer;
  // A stack of what came back last: a request of the same class takes it without splitting and
  // merging.
  struct Cache {
    std::byte** buffers = nullptr;  // room for CacheLimit
    size_t count = 0;
  };

  static constexpr size_t ClassBytes(int size_class) { return PoolSlab::ClassBytes(size_class); }
  static int ClassOf(size_t size_bytes);
  void Return(std::byte* data, int size_class);
  std::byte* Take(int size_class);
  void EmptyCaches();
  void NotifyFirstWaiter();

  const size_t limit_bytes_;
  PoolSlab slab_;
  size_t in_use_bytes_ = 0;
  int returns_until_trim_ = kReturnsPerTrim;
  std::vector<std::byte*> cache_room_;  // of all classes
  std::array<Cache, kNumClasses> caches_;
  PoolWaiter* first_waiter_ = nullptr;
  PoolWaiter* last_waiter_ = nullptr;
  uint64_t waiting_bytes_ = 0;
};

}  // namespace vof

#endif  // VOF_CORE_MEMORY_BUFFER_POOL_H_
