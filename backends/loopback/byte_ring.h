// SPDX-License-Identifier: Apache-2.0
//
// A bounded queue of bytes.
//
//   ByteRing ring(4096);
//   size_t taken = ring.Write(from);      // as much as there is room for
//   size_t given = ring.Read(into);       // as much as there is
#ifndef VOF_BACKENDS_LOOPBACK_BYTE_RING_H_
#define VOF_BACKENDS_LOOPBACK_BYTE_RING_H_

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>

#include "core/base/buffer.h"

namespace vof {

class ByteRing {
 public:
  // The memory is not touched before it is used: most rings carry little.
  explicit ByteRing(size_t capacity_bytes)
      : capacity_(std::max<size_t>(1, capacity_bytes)),
        bytes_(std::make_unique_for_overwrite<std::byte[]>(capacity_)) {}

  size_t size_bytes() const { return size_; }
  size_t room_bytes() const { return capacity_ - size_; }
  void Clear() { begin_ = size_ = 0; }

  size_t Write(std::span<const ConstBuffer> from) {
    const size_t before = size_;
    for (const ConstBuffer& buffer : from) {
      if (WriteOne(buffer) < buffer.size_bytes) break;
    }
    return size_ - before;
  }

  size_t Read(std::span<const MutableBuffer> into) {
    const size_t before = size_;
    for (const MutableBuffer& buffer : into) {
      if (ReadOne(buffer) < buffer.size_bytes) break;
    }
    return before - size_;
  }

 private:
  size_t WriteOne(ConstBuffer from) {
    const size_t count = std::min(from.size_bytes, room_bytes());
    if (count == 0) return 0;
    const size_t end = (begin_ + size_) % capacity_;
    const size_t first = std::min(count, capacity_ - end);
    std::memcpy(bytes_.get() + end, from.data, first);
    std::memcpy(bytes_.get(), from.data + first, count - first);
    size_ += count;
    return count;
  }

  size_t ReadOne(MutableBuffer into) {
    const size_t count = std::min(into.size_bytes, size_);
    if (count == 0) return 0;
    const size_t first = std::min(count, capacity_ - begin_);
    std::memcpy(into.data, bytes_.get() + begin_, first);
    std::memcpy(into.data + first, bytes_.get(), count - first);
    size_ -= count;
    // An empty ring starts over: short messages stay in the same few cache lines.
    begin_ = size_ == 0 ? 0 : (begin_ + count) % capacity_;
    return count;
  }

  size_t capacity_;
  std::unique_ptr<std::byte[]> bytes_;
  size_t begin_ = 0;
  size_t size_ = 0;
};

}  // namespace vof

#endif  // VOF_BACKENDS_LOOPBACK_BYTE_RING_H_
