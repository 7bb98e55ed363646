// SPDX-License-Identifier: Apache-2.0
#include "core/memory/buffer_pool.h"

#include <bit>
#include <utility>

#include "core/base/check.h"

#if defined(__SANITIZE_ADDRESS__)
#define VOF_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VOF_ASAN 1
#endif
#endif
#ifdef VOF_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace vof {
namespace {

// Under AddressSanitizer a free buffer is as untouchable as freed memory.
void Poison([[maybe_unused]] std::byte* data, [[maybe_unused]] size_t size_bytes) {
#ifdef VOF_ASAN
  ASAN_POISON_MEMORY_REGION(data, size_bytes);
#endif
}
void Unpoison([[maybe_unused]] std::byte* data, [[maybe_unused]] size_t size_bytes) {
#ifdef VOF_ASAN
  ASAN_UNPOISON_MEMORY_REGION(data, size_bytes);
#endif
}

}  // namespace

PoolBuffer& PoolBuffer::operator=(PoolBuffer&& other) noexcept {
  if (this != &other) {
    Release();
    pool_ = std::exchange(other.pool_, nullptr);
    data_ = std::exchange(other.data_, nullptr);
    size_class_ = other.size_class_;
  }
  return *this;
}

size_t PoolBuffer::capacity_bytes() const {
  return data_ == nullptr ? 0 : BufferPool::ClassBytes(size_class_);
}

void PoolBuffer::Release() {
  if (data_ == nullptr) return;
  std::exchange(pool_, nullptr)->Return(std::exchange(data_, nullptr), size_class_);
}

BufferPool::BufferPool(size_t limit_bytes)
    : limit_bytes_(limit_bytes < kMinPoolBytes ? kMinPoolBytes : limit_bytes), slab_(limit_bytes_) {
  Poison(slab_.bytes().data, slab_.bytes().size_bytes);
  size_t room = 0;
  for (int size_class = 0; size_class < kNumClasses; ++size_class) room += CacheLimit(size_class);
  cache_room_.resize(room);
  std::byte** next = cache_room_.data();
  for (int size_class = 0; size_class < kNumClasses; ++size_class) {
    caches_[size_class].buffers = std::exchange(next, next + CacheLimit(size_class));
  }
}

BufferPool::~BufferPool() {
  Check(in_use_bytes_ == 0, "every PoolBuffer returns before its pool ends");
  Check(first_waiter_ == nullptr, "every PoolWaiter is forgotten before its pool ends");
  Unpoison(slab_.bytes().data, slab_.bytes().size_bytes);  // somebody else maps it next
}

MutableBuffer BufferPool::slab() {
  slab_.Pin();
  return slab_.bytes();
}

int BufferPool::ClassOf(size_t size_bytes) {
  constexpr size_t kMinBytes = size_t{1} << kMinClassShift;
  if (size_bytes <= kMinBytes) return 0;
  return std::bit_width(size_bytes - 1) - kMinClassShift;
}

PoolBuffer BufferPool::Allocate(size_t size_bytes, PoolWaiter* waiter) {
  PoolBuffer buffer;
  DebugCheck(size_bytes > 0, "an allocation has a size");
  if (size_bytes > ClassBytes(kNumClasses - 1)) return buffer;
  if (first_waiter_ != nullptr && first_waiter_ != waiter) return buffer;
  const int size_class = ClassOf(size_bytes);
  std::byte* data = Take(size_class);
  if (data == nullptr) return buffer;
  Unpoison(data, ClassBytes(size_class));
  in_use_bytes_ += ClassBytes(size_class);
  buffer.pool_ = this;
  buffer.data_ = data;
  buffer.size_class_ = static_cast<uint8_t>(size_class);
  if (waiter != nullptr && waiter == first_waiter_) Forget(waiter);
  return buffer;
}

void BufferPool::WaitFor(size_t size_bytes, PoolWaiter* waiter) {
  const bool waits_already = waiter->class_bytes_ != 0;
  waiting_bytes_ -= waiter->class_bytes_;
  waiter->class_bytes_ = ClassBytes(ClassOf(size_bytes));
  waiting_bytes_ += waiter->class_bytes_;
  waiter->notified_ = false;
  if (waits_already) return;
  if (first_waiter_ == nullptr) EmptyCaches();  // what is free merges while somebody waits
  waiter->next_ = nullptr;
  waiter->previous_ = last_waiter_;
  (last_waiter_ != nullptr ? last_waiter_->next_ : first_waiter_) = waiter;
  last_waiter_ = waiter;
}

void BufferPool::Forget(PoolWaiter* waiter) {
  if (waiter->class_bytes_ == 0) return;
  const bool was_first = waiter == first_waiter_;
  (waiter->previous_ != nullptr ? waiter->previous_->next_ : first_waiter_) = waiter->next_;
  (waiter->next_ != nullptr ? waiter->next_->previous_ : last_waiter_) = waiter->previous_;
  waiter->next_ = waiter->previous_ = nullptr;
  waiting_bytes_ -= waiter->class_bytes_;
  waiter->class_bytes_ = 0;
  waiter->notified_ = false;
  if (was_first) NotifyFirstWaiter();
}

// At most one waiter is notified at a time: the memory is the first one's until it took it or gave
// up.
void BufferPool::NotifyFirstWaiter() {
  PoolWaiter* waiter = first_waiter_;
  if (waiter == nullptr || waiter->notified_) return;
  if (!slab_.HasFree(ClassOf(waiter->class_bytes_))) return;
  waiter->notified_ = true;
  waiter->OnPoolMayHaveMemory();
}

void BufferPool::Return(std::byte* data, int size_class) {
  Poison(data, ClassBytes(size_class));
  in_use_bytes_ -= ClassBytes(size_class);
  Cache& cache = caches_[size_class];
  if (first_waiter_ == nullptr && cache.count < CacheLimit(size_class)) {
    cache.buffers[cache.count++] = data;
  } else {
    slab_.Give(data, size_class);
  }
  if (--returns_until_trim_ == 0) {
    Trim();
  }
  NotifyFirstWaiter();
}

void BufferPool::Trim() {
  returns_until_trim_ = kReturnsPerTrim;
  EmptyCaches();
  slab_.Trim();
}

std::byte* BufferPool::Take(int size_class) {
  Cache& cache = caches_[size_class];
  if (cache.count > 0) return cache.buffers[--cache.count];
  if (!slab_.HasFree(size_class)) EmptyCaches();
  return slab_.Take(size_class);
}

void BufferPool::EmptyCaches() {
  for (int size_class = 0; size_class < kNumClasses; ++size_class) {
    Cache& cache = caches_[size_class];
    while (cache.count > 0) slab_.Give(cache.buffers[--cache.count], size_class);
  }
}

}  // namespace vof
