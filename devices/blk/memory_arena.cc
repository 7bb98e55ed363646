// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/memory_arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>

#include "absl/strings/str_cat.h"

namespace vof {
namespace {

constexpr uint64_t kSmallPageBytes = 4096;
constexpr uint64_t kHugePageBytes = 2u << 20;
constexpr uint64_t kDefaultReservedBytes = 64ull << 30;
// The kernel holds the lock of the address space while it fills a range: another thread that maps
// anything, as the one that serves an interrupt does, waits that long.
constexpr uint64_t kPopulateStepBytes = 64u << 20;
// What a 64-bit process can map at all, with room for everything else.
constexpr uint64_t kMostReservedBytes = 1ull << 46;

uint64_t ReservedBytes(const MemoryArena::Options& options) {
  const uint64_t wanted = options.max_size_bytes != 0
                              ? options.max_size_bytes
                              : std::max(options.size_bytes * 4, kDefaultReservedBytes);
  // Rounded up to huge pages, and one more so that the start can be aligned to one.
  return (wanted + 2 * kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
}

void* MapReserved(uint64_t size_bytes) {
  return mmap(nullptr, size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

void Populate(std::byte* from, uint64_t size_bytes) {
  for (uint64_t at = 0; at < size_bytes; at += kPopulateStepBytes) {
    madvise(from + at, std::min(kPopulateStepBytes, size_bytes - at), MADV_POPULATE_WRITE);
  }
}

// Gives back what lies before the first huge page boundary.
std::byte* AlignStart(std::byte* start, uint64_t* size_bytes) {
  const uint64_t excess = -reinterpret_cast<uintptr_t>(start) % kHugePageBytes;
  if (excess > 0) munmap(start, excess);
  *size_bytes -= excess;
  return start + excess;
}

}  // namespace

absl::StatusOr<std::shared_ptr<MemoryArena>> MemoryArena::Create(const Options& options) {
  if (options.size_bytes == 0) return absl::InvalidArgumentError("a memory disk of 0 bytes");
  if (options.size_bytes > kMostReservedBytes / 4 || options.max_size_bytes > kMostReservedBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a memory disk of ", std::max(options.size_bytes, options.max_size_bytes),
                     " bytes; at most ", kMostReservedBytes / 4, " can be mapped"));
  }
  if (options.max_size_bytes != 0 && options.max_size_bytes < options.size_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("max_size of ", options.max_size_bytes,
                                                   " bytes is below the size of ",
                                                   options.size_bytes));
  }
  uint64_t reserved_bytes = ReservedBytes(options);
  void* start = MapReserved(reserved_bytes);
  if (start == MAP_FAILED && options.max_size_bytes == 0) {
    // A limit on address space (RLIMIT_AS): do without growth.
    reserved_bytes = ReservedBytes({.size_bytes = 0, .max_size_bytes = options.size_bytes});
    start = MapReserved(reserved_bytes);
  }
  if (start == MAP_FAILED) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot map ", reserved_bytes,
                                                   " bytes of address space for a memory disk "
                                                   "(ulimit -v limits it)"));
  }
  std::byte* data = AlignStart(static_cast<std::byte*>(start), &reserved_bytes);
  std::shared_ptr<MemoryArena> arena(new MemoryArena(data, reserved_bytes, options));
  if (absl::Status s = arena->Resize(options.size_bytes); !s.ok()) return s;
  return arena;
}

MemoryArena::MemoryArena(std::byte* data, uint64_t reserved_bytes, const Options& options)
    : data_(data),
      reserved_bytes_(reserved_bytes),
      huge_pages_(options.huge_pages),
      populate_(options.populate),
      page_bytes_(options.huge_pages == HugePages::kReserved ? kHugePageBytes : kSmallPageBytes) {}

MemoryArena::~MemoryArena() { munmap(data_, reserved_bytes_); }

uint64_t MemoryArena::RoundUp(uint64_t size_bytes) const {
  return (size_bytes + page_bytes_ - 1) / page_bytes_ * page_bytes_;
}

// Makes the reserved address space usable up to `end_bytes`.
absl::Status MemoryArena::Commit(uint64_t end_bytes) {
  if (end_bytes <= committed_bytes_) return absl::OkStatus();
  std::byte* from = data_ + committed_bytes_;
  const uint64_t length = end_bytes - committed_bytes_;
  const bool reserved = huge_pages_ == HugePages::kReserved;
  // Memory from the pool is accounted for now, so that a pool which is too small shows here and not
  // as a signal at the first write.
  const int flags =
      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | (reserved ? MAP_HUGETLB : MAP_NORESERVE);
  if (mmap(from, length, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED) {
    const int error = errno;
    // A failed MAP_FIXED may have unmapped the range: keep others out of it.
    (void)mmap(from, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
               0);
    const std::string hint =
        reserved
            ? absl::StrCat(" of huge pages; /proc/sys/vm/nr_hugepages must have ",
                           length / kHugePageBytes, " free pages of 2 MiB, or use transparent ones")
            : "";
    return absl::ErrnoToStatus(error, absl::StrCat("cannot map ", length, " bytes", hint));
  }
  if (huge_pages_ == HugePages::kTransparent) madvise(from, length, MADV_HUGEPAGE);
  madvise(from, length, MADV_DONTDUMP);
  if (populate_) Populate(from, length);
  committed_bytes_ = end_bytes;
  return absl::OkStatus();
}

absl::Status MemoryArena::Resize(uint64_t size_bytes) {
  if (RoundUp(size_bytes) > reserved_bytes_ || size_bytes > kMostReservedBytes) {
    return absl::OutOfRangeError(absl::StrCat("a memory disk can grow to ", reserved_bytes_,
                                              " bytes, not to ", size_bytes,
                                              "; set max_size when it is created"));
  }
  const uint64_t used_before_bytes = committed_bytes_;
  if (absl::Status s = Commit(RoundUp(size_bytes)); !s.ok()) return s;
  const uint64_t old_bytes = size_bytes_.load(std::memory_order_relaxed);
  // Dropped when it shrinks, and once more when it grows: a request under way during the shrink may
  // have written behind the new end.
  const uint64_t kept_bytes = std::min(old_bytes, size_bytes);
  if (size_bytes < old_bytes) size_bytes_.store(size_bytes, std::memory_order_release);
  const uint64_t dropped_end = std::min(std::max(old_bytes, size_bytes), used_before_bytes);
  if (dropped_end > kept_bytes) Zero(kept_bytes, dropped_end - kept_bytes, /*may_unmap=*/true);
  size_bytes_.store(size_bytes, std::memory_order_release);
  return absl::OkStatus();
}

void MemoryArena::Zero(uint64_t offset_bytes, uint64_t length_bytes, bool may_unmap) {
  const uint64_t end_bytes = offset_bytes + length_bytes;
  const uint64_t first_page = RoundUp(offset_bytes);
  const uint64_t last_page = end_bytes / page_bytes_ * page_bytes_;
  if (!may_unmap || first_page >= last_page || !Unmap(first_page, last_page - first_page)) {
    std::memset(data_ + offset_bytes, 0, length_bytes);
    return;
  }
  std::memset(data_ + offset_bytes, 0, first_page - offset_bytes);
  std::memset(data_ + last_page, 0, end_bytes - last_page);
}

bool MemoryArena::Unmap(uint64_t offset_bytes, uint64_t length_bytes) {
  const std::shared_lock<std::shared_mutex> lock(keepers_mutex_);
  return keepers_ == 0 && madvise(data_ + offset_bytes, length_bytes, MADV_DONTNEED) == 0;
}

std::shared_ptr<const void> MemoryArena::KeepPages() {
  const std::unique_lock<std::shared_mutex> lock(keepers_mutex_);
  ++keepers_;
  return {data_, [arena = shared_from_this()](const void*) {
            const std::unique_lock<std::shared_mutex> unlock(arena->keepers_mutex_);
            --arena->keepers_;
          }};
}

}  // namespace vof
