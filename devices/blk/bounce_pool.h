// SPDX-License-Identifier: Apache-2.0
//
// Page-aligned memory for direct I/O whose own memory is not aligned: a few chunks per queue, made
// when they are first needed and then kept.
//
//   MutableBuffer memory = pool.Take();     // empty: all in use, wait for one to come back
//   pool.Return(memory);
//
// One thread.
#ifndef VOF_DEVICES_BLK_BOUNCE_POOL_H_
#define VOF_DEVICES_BLK_BOUNCE_POOL_H_

#include <array>
#include <cstddef>
#include <cstdlib>
#include <memory>

#include "core/base/buffer.h"

namespace vof {

template <size_t kChunkBytes, size_t kMaxChunks>
class BouncePool {
 public:
  MutableBuffer Take() {
    if (num_free_ > 0) return MutableBuffer(free_[--num_free_], kChunkBytes);
    if (num_chunks_ == kMaxChunks) return MutableBuffer();
    Chunk& chunk = chunks_[num_chunks_];
    chunk.reset(static_cast<std::byte*>(std::aligned_alloc(kPageBytes, kChunkBytes)));
    if (chunk == nullptr) return MutableBuffer();
    ++num_chunks_;
    return MutableBuffer(chunk.get(), kChunkBytes);
  }
  void Return(MutableBuffer memory) { free_[num_free_++] = memory.data; }

 private:
  static constexpr size_t kPageBytes = 4096;
  static_assert(kChunkBytes % kPageBytes == 0);
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  using Chunk = std::unique_ptr<std::byte, Free>;

  std::array<Chunk, kMaxChunks> chunks_;
  std::array<std::byte*, kMaxChunks> free_ = {};
  size_t num_chunks_ = 0;
  size_t num_free_ = 0;
};

}  // namespace vof

#endif  // VOF_DEVICES_BLK_BOUNCE_POOL_H_
