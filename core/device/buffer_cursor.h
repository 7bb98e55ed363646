// SPDX-License-Identifier: Apache-2.0
//
// Cursors over scatter lists: read or write a byte stream that is cut into pieces in any way.
//
//   BufferReader in(request->readable);
//   Header header;
//   if (!in.Read(&header, sizeof(header))) return TooShort();
//   while (in.remaining_bytes() > 0) Hash(in.Next(SIZE_MAX).span());   // piece by piece, no copy
//
//   BufferWriter out(request->writable);
//   out.Zero(out.remaining_bytes() - 1);
//   out.Write(&status, 1);
//
// A cursor is a small value: a copy of one that stands behind a header *is* the view of the
// payload. The list and the bytes belong to the caller and outlive the cursor. Nothing allocates;
// nothing reads or writes outside the list.
#ifndef VOF_CORE_DEVICE_BUFFER_CURSOR_H_
#define VOF_CORE_DEVICE_BUFFER_CURSOR_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "core/base/buffer.h"

namespace vof {

template <typename Buffer>
class BufferCursor {
 public:
  BufferCursor() = default;
  explicit BufferCursor(std::span<const Buffer> buffers)
      : next_(buffers.data()), remaining_bytes_(TotalBytes(buffers)) {}

  uint64_t remaining_bytes() const { return remaining_bytes_; }

  // Hides what lies more than `size_bytes` ahead.
  void Truncate(uint64_t size_bytes) { remaining_bytes_ = std::min(remaining_bytes_, size_bytes); }

  // The next contiguous run, at most `max_bytes` of it, and steps over it. Empty only at the end
  // (or when `max_bytes` is 0): empty pieces are passed over.
  Buffer Next(size_t max_bytes) {
    const uint64_t wanted = std::min<uint64_t>(max_bytes, remaining_bytes_);
    if (wanted == 0) return Buffer();
    while (next_->size_bytes == offset_bytes_) StepToNextPiece();
    const size_t size_bytes = std::min<uint64_t>(wanted, next_->size_bytes - offset_bytes_);
    const Buffer run(next_->data + offset_bytes_, size_bytes);
    offset_bytes_ += size_bytes;
    remaining_bytes_ -= size_bytes;
    return run;
  }

  // These do all or nothing: false, and the cursor does not move, when fewer than `size_bytes`
  // remain.
  bool Skip(uint64_t size_bytes) {
    return ForEachRun(size_bytes, [](Buffer) {});
  }
  bool Read(void* to, size_t size_bytes) {
    auto* out = static_cast<std::byte*>(to);
    return ForEachRun(size_bytes, [&out](Buffer run) {
      std::memcpy(out, run.data, run.size_bytes);
      out += run.size_bytes;
    });
  }
  bool Write(const void* from, size_t size_bytes) requires std::is_same_v<Buffer, MutableBuffer> {
    const auto* in = static_cast<const std::byte*>(from);
    return ForEachRun(size_bytes, [&in](Buffer run) {
      std::memcpy(run.data, in, run.size_bytes);
      in += run.size_bytes;
    });
  }
  bool Zero(uint64_t size_bytes) requires std::is_same_v<Buffer, MutableBuffer> {
    return ForEachRun(size_bytes, [](Buffer run) { std::memset(run.data, 0, run.size_bytes); });
  }

 private:
  template <typename Function>
  bool ForEachRun(uint64_t size_bytes, Function&& use) {
    if (size_bytes > remaining_bytes_) return false;
    while (size_bytes > 0) {
      const Buffer run = Next(size_bytes);
      use(run);
      size_bytes -= run.size_bytes;
    }
    return true;
  }
  void StepToNextPiece() {
    ++next_;
    offset_bytes_ = 0;
  }

  const Buffer* next_ = nullptr;  // the piece that holds the next byte, unless it is used up
  size_t offset_bytes_ = 0;       // used of that piece
  uint64_t remaining_bytes_ = 0;
};

using BufferReader = BufferCursor<ConstBuffer>;
using BufferWriter = BufferCursor<MutableBuffer>;

}  // namespace vof

#endif  // VOF_CORE_DEVICE_BUFFER_CURSOR_H_
