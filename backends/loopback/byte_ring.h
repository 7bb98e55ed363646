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
#include <span>
#include <vector>

#include "core/base/buffer.h"

namespace vof {

class ByteRing {
 public:
  explicit ByteRing(size_t capacity_bytes) : bytes_(std::max<size_t>(1, capacity_bytes)) {}

  size_t size_bytes() const { return size_; }
  size_t room_bytes() const { return bytes_.size() - size_; }
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
    const size_t end = (begin_ + size_) % bytes_.size();
    const size_t first = std::min(count, bytes_.size() - end);
    std::memcpy(bytes_.data() + end, from.data, first);
    std::memcpy(bytes_.data(), from.data + first, count - first);
    size_ += count;
    return count;
  }

  size_t ReadOne(MutableBuffer into) {
    const size_t count = std::min(into.size_bytes, size_);
    if (count == 0) return 0;
    const size_t first = std::min(count, bytes_.size() - begin_);
    std::memcpy(into.data, bytes_.data() + begin_, first);
    std::memcpy(into.data + first, bytes_.data(), count - first);
    size_ -= count;
    // An empty ring starts over: short messages stay in the same few cache lines.
    begin_ = size_ == 0 ? 0 : (begin_ + count) % bytes_.size();
    return count;
  }

  std::vector<std::byte> bytes_;
  size_t begin_ = 0;
  size_t size_ = 0;
};

}  // namespace vof

#endif  // VOF_BACKENDS_LOOPBACK_BYTE_RING_H_
