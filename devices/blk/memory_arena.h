// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a memory disk: one contiguous mapping that grows and shrinks in place, so that
// memory which was lent to a transport never moves and never goes away.
//
//   auto arena = MemoryArena::Create({.size_bytes = 1 << 30});
//   std::memcpy((*arena)->data() + offset, ...);
//   (*arena)->Zero(offset, length, /*may_unmap=*/true);
//
// Pages are taken when they are first used, unless Options::populate. data(), size_bytes(), Zero()
// and KeepPages() from any thread; Resize from one at a time.
#ifndef VOF_DEVICES_BLK_MEMORY_ARENA_H_
#define VOF_DEVICES_BLK_MEMORY_ARENA_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <shared_mutex>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vof {

enum class HugePages : uint8_t {
  kOff,
  kTransparent,  // asks for them; the kernel gives what it can
  kReserved,     // from the pool of /proc/sys/vm/nr_hugepages, an error when it is too small
};

class MemoryArena : public std::enable_shared_from_this<MemoryArena> {
 public:
  struct Options {
    uint64_t size_bytes = 0;
    // The largest size that Resize can give it: address space only. 0: four times the size, at
    // least 64 GiB.
    uint64_t max_size_bytes = 0;
    HugePages huge_pages = HugePages::kOff;
    // Takes the pages at once, on the thread that creates or resizes, so that no request waits for
    // one; as far as the kernel can (5.14).
    bool populate = false;
  };

  static absl::StatusOr<std::shared_ptr<MemoryArena>> Create(const Options& options);
  ~MemoryArena();
  MemoryArena(const MemoryArena&) = delete;
  MemoryArena& operator=(const MemoryArena&) = delete;

  std::byte* data() const { return data_; }
  uint64_t size_bytes() const { return size_bytes_.load(std::memory_order_acquire); }

  absl::Status Resize(uint64_t size_bytes);
  // Makes a range read as zeros; with `may_unmap` gives whole pages back to the system, if none has
  // to be kept.
  void Zero(uint64_t offset_bytes, uint64_t length_bytes, bool may_unmap);
  bool has_huge_pages() const { return huge_pages_ != HugePages::kOff; }
  // Whether Zero gives pages back now, which is several times as fast as writing zeroes.
  bool can_unmap() const {
    const std::shared_lock<std::shared_mutex> lock(keepers_mutex_);
    return keepers_ == 0;
  }
  // While what it returns lives, every page stays the one it is: a fabric's adapter was told of it
  // and would go on to read it. Keeps the arena, too.
  std::shared_ptr<const void> KeepPages();

 private:
  MemoryArena(std::byte* data, uint64_t reserved_bytes, const Options& options);
  uint64_t RoundUp(uint64_t size_bytes) const;
  absl::Status Commit(uint64_t end_bytes);
  // False: they have to be kept, or it did not work.
  bool Unmap(uint64_t offset_bytes, uint64_t length_bytes);

  std::byte* const data_;
  const uint64_t reserved_bytes_;
  const HugePages huge_pages_;
  const bool populate_;
  const uint64_t page_bytes_;
  uint64_t committed_bytes_ = 0;  // mapped for use from the start; only grows
  std::atomic<uint64_t> size_bytes_ = 0;
  // Held shared while pages are given back, so that none is once KeepPages has returned.
  mutable std::shared_mutex keepers_mutex_;
  int keepers_ = 0;
};

}  // namespace vof

#endif  // VOF_DEVICES_BLK_MEMORY_ARENA_H_
