// SPDX-License-Identifier: Apache-2.0
#include "core/memory/buffer_pool.h"

#include <sys/mman.h>

#include <bit>
#include <cstdlib>
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

constexpr size_t kPageBytes = 4096;
// From here up memory comes from mmap, so that evicting a buffer really gives it back to the
// system.
constexpr size_t kMapBytes = 64u << 10;

std::byte* TakeFromSystem(size_t size_bytes) {
  if (size_bytes >= kMapBytes) {
    void* data =
        mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return data == MAP_FAILED ? nullptr : static_cast<std::byte*>(data);
  }
  const size_t alignment = size_bytes < kPageBytes ? size_bytes : kPageBytes;
  return static_cast<std::byte*>(std::aligned_alloc(alignment, size_bytes));
}

void GiveToSystem(std::byte* data, size_t size_bytes) {
  if (size_bytes >= kMapBytes) {
    munmap(data, size_bytes);
  } else {
    std::free(data);
  }
}

// Under AddressSanitizer a cached buffer is as untouchable as freed memory.
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
    : limit_bytes_(limit_bytes < kMinPoolBytes ? kMinPoolBytes : limit_bytes) {}

BufferPool::~BufferPool() {
  Check(in_use_bytes_ == 0, "every PoolBuffer returns before its pool ends");
  Check(first_waiter_ == nullptr, "every PoolWaiter is forgotten before its pool ends");
  for (int size_class = 0; size_class < kNumClasses; ++size_class) {
    while (std::byte* data = PopCached(size_class)) GiveToSystem(data, ClassBytes(size_class));
  }
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
  const size_t class_bytes = ClassBytes(size_class);
  std::byte* data = nullptr;
  if (in_use_bytes_ + class_bytes <= limit_bytes_) {
    data = PopCached(size_class);
    if (data == nullptr && MakeRoom(class_bytes)) data = TakeFromSystem(class_bytes);
  }
  if (data == nullptr) return buffer;
  in_use_bytes_ += class_bytes;
  buffer.pool_ = this;
  buffer.data_ = data;
  buffer.size_class_ = static_cast<uint8_t>(size_class);
  if (waiter != nullptr && waiter == first_waiter_) Forget(waiter);
  return buffer;
}

void BufferPool::WaitFor(size_t size_bytes, PoolWaiter* waiter) {
  const bool waits_already = waiter->class_bytes_ != 0;
  waiter->class_bytes_ = ClassBytes(ClassOf(size_bytes));
  waiter->notified_ = false;
  if (waits_already) return;
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
  waiter->class_bytes_ = 0;
  waiter->notified_ = false;
  if (was_first) NotifyFirstWaiter();
}

// At most one waiter is notified at a time: the memory is the first one's until it took it or gave
// up.
void BufferPool::NotifyFirstWaiter() {
  PoolWaiter* waiter = first_waiter_;
  if (waiter == nullptr || waiter->notified_) return;
  if (in_use_bytes_ + waiter->class_bytes_ > limit_bytes_) return;
  waiter->notified_ = true;
  waiter->OnPoolMayHaveMemory();
}

void BufferPool::Return(std::byte* data, int size_class) {
  auto* cached = reinterpret_cast<CachedBuffer*>(data);
  cached->next = cached_[size_class];
  cached_[size_class] = cached;
  Poison(data, ClassBytes(size_class));
  in_use_bytes_ -= ClassBytes(size_class);
  cached_bytes_ += ClassBytes(size_class);
  NotifyFirstWaiter();
}

std::byte* BufferPool::PopCached(int size_class) {
  CachedBuffer* cached = cached_[size_class];
  if (cached == nullptr) return nullptr;
  auto* data = reinterpret_cast<std::byte*>(cached);
  Unpoison(data, ClassBytes(size_class));
  cached_[size_class] = cached->next;
  cached_bytes_ -= ClassBytes(size_class);
  return data;
}

// Gives cached buffers back to the system, the largest first (fewest calls), until `class_bytes`
// more fit into the limit.
bool BufferPool::MakeRoom(size_t class_bytes) {
  for (int size_class = kNumClasses - 1; size_class >= 0; --size_class) {
    while (in_use_bytes_ + cached_bytes_ + class_bytes > limit_bytes_) {
      std::byte* data = PopCached(size_class);
      if (data == nullptr) break;
      GiveToSystem(data, ClassBytes(size_class));
    }
  }
  return in_use_bytes_ + cached_bytes_ + class_bytes <= limit_bytes_;
}

}  // namespace vof
