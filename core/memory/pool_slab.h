// SPDX-License-Identifier: Apache-2.0
//
// One mapping of memory cut into blocks of powers of two: what a BufferPool is made of.
//
//   PoolSlab slab(128u << 20);
//   std::byte* data = slab.Take(3);          // 4 KiB; null when no such block is free
//   slab.Give(data, 3);                      // merges with its neighbours
//
// A buddy allocator: block sizes are classes, 0 the smallest. Of those that fit the smallest block
// with the lowest address is taken, so what is held for long gathers at the beginning and the end
// stays whole for large requests and for the system. O(log) per call; no call but the constructor
// allocates. One thread.
#ifndef VOF_CORE_MEMORY_POOL_SLAB_H_
#define VOF_CORE_MEMORY_POOL_SLAB_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/buffer.h"
#include "core/memory/bit_tree.h"

namespace vof {

class PoolSlab {
 public:
  static constexpr int kMinClassShift = 9;   // 512 B
  static constexpr int kMaxClassShift = 23;  // 8 MiB
  static constexpr int kNumClasses = kMaxClassShift - kMinClassShift + 1;

  static constexpr size_t ClassBytes(int size_class) {
    return size_t{1} << (size_class + kMinClassShift);
  }

  // What `size_bytes` holds of whole smallest blocks. Without address space there is no memory:
  // every Take fails.
  explicit PoolSlab(size_t size_bytes);
  ~PoolSlab();  // also of blocks that are not back
  PoolSlab(const PoolSlab&) = delete;
  PoolSlab& operator=(const PoolSlab&) = delete;

  MutableBuffer bytes() const { return bytes_; }

  std::byte* Take(int size_class);
  void Give(std::byte* data, int size_class);
  bool HasFree(int size_class) const { return free_classes_ >> size_class != 0; }

  // Gives free memory back to the system that was not used since the last call, in units of the
  // largest block. Never after Pin.
  void Trim();
  // The memory is known to an adapter by its pages: they stay what they are.
  void Pin() { pinned_ = true; }
  // At most so much of the memory is backed by pages.
  size_t resident_bytes() const { return resident_bytes_; }

 private:
  // The whole blocks of the largest class; what is left at the end counts as one more.
  struct Chunk {
    bool resident = false;
    bool used = false;  // since the last Trim
  };

  void Insert(int size_class, size_t number);
  void Remove(int size_class, size_t number);
  void MarkUsed(size_t chunk);
  size_t ChunkBytes(size_t chunk) const;

  MutableBuffer bytes_;
  std::vector<BitTree> free_;  // for each class the numbers of its free blocks
  uint32_t free_classes_ = 0;  // those that have any
  std::vector<Chunk> chunks_;
  size_t resident_bytes_ = 0;
  bool pinned_ = false;
};

}  // namespace vof

#endif  // VOF_CORE_MEMORY_POOL_SLAB_H_
