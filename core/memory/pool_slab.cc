// SPDX-License-Identifier: Apache-2.0
#include "core/memory/pool_slab.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>

namespace vof {
namespace {

constexpr int kTopClass = PoolSlab::kNumClasses - 1;
constexpr size_t kChunkBytes = PoolSlab::ClassBytes(kTopClass);

std::byte* MapMemory(size_t size_bytes) {
  void* data = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return data == MAP_FAILED ? nullptr : static_cast<std::byte*>(data);
}

}  // namespace

PoolSlab::PoolSlab(size_t size_bytes) {
  bytes_.size_bytes = size_bytes & ~(ClassBytes(0) - 1);
  bytes_.data = MapMemory(bytes_.size_bytes);
  if (bytes_.data == nullptr) bytes_.size_bytes = 0;
  chunks_.resize((bytes_.size_bytes + kChunkBytes - 1) / kChunkBytes);
  free_.reserve(kNumClasses);
  for (int size_class = 0; size_class < kNumClasses; ++size_class) {
    free_.emplace_back(chunks_.size() << (kTopClass - size_class));
  }
  size_t at = 0;
  for (int size_class = kTopClass; size_class >= 0; --size_class) {
    for (; bytes_.size_bytes - at >= ClassBytes(size_class); at += ClassBytes(size_class)) {
      Insert(size_class, at / ClassBytes(size_class));
    }
  }
}

PoolSlab::~PoolSlab() {
  if (bytes_.data != nullptr) munmap(bytes_.data, bytes_.size_bytes);
}

void PoolSlab::Insert(int size_class, size_t number) {
  free_[size_class].Insert(number);
  free_classes_ |= 1u << size_class;
}

void PoolSlab::Remove(int size_class, size_t number) {
  free_[size_class].Remove(number);
  if (free_[size_class].empty()) free_classes_ &= ~(1u << size_class);
}

std::byte* PoolSlab::Take(int size_class) {
  const uint32_t fitting = free_classes_ >> size_class;
  if (fitting == 0) return nullptr;
  int found = size_class + std::countr_zero(fitting);
  size_t number = free_[found].First();
  Remove(found, number);
  MarkUsed(number >> (kTopClass - found));
  while (found > size_class) {
    --found;
    number *= 2;
    Insert(found, number + 1);
  }
  return bytes_.data + number * ClassBytes(size_class);
}

void PoolSlab::Give(std::byte* data, int size_class) {
  size_t number = static_cast<size_t>(data - bytes_.data) / ClassBytes(size_class);
  while (size_class < kTopClass && free_[size_class].Contains(number ^ 1)) {
    Remove(size_class, number ^ 1);
    number /= 2;
    ++size_class;
  }
  Insert(size_class, number);
}

size_t PoolSlab::ChunkBytes(size_t chunk) const {
  return std::min(kChunkBytes, bytes_.size_bytes - chunk * kChunkBytes);
}

void PoolSlab::MarkUsed(size_t chunk) {
  chunks_[chunk].used = true;
  if (chunks_[chunk].resident) return;
  chunks_[chunk].resident = true;
  resident_bytes_ += ChunkBytes(chunk);
}

void PoolSlab::Trim() {
  if (pinned_) return;
  for (size_t i = 0; i < chunks_.size(); ++i) {
    Chunk& chunk = chunks_[i];
    const bool is_free = free_[kTopClass].Contains(i);
    if (is_free && chunk.resident && !chunk.used) {
      madvise(bytes_.data + i * kChunkBytes, kChunkBytes, MADV_DONTNEED);
      chunk.resident = false;
      resident_bytes_ -= kChunkBytes;
    }
    if (is_free) chunk.used = false;
  }
}

}  // namespace vof
