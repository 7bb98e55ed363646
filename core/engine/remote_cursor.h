// SPDX-License-Identifier: Apache-2.0
//
// Walks the descriptors of a keyed request as one logical range of the initiator's memory.
//
//   RemoteCursor<V5> cursor(descriptors, skip_bytes);
//   while (left > 0) {
//     RemoteBuffer piece = cursor.Next(left);      // adjacent descriptors with one key are merged
//     left -= piece.size_bytes;
//   }
//
// The descriptors are still in wire form, checked by keyed_request_parser.h. Pure.
#ifndef VOF_CORE_ENGINE_REMOTE_CURSOR_H_
#define VOF_CORE_ENGINE_REMOTE_CURSOR_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/transport/message_channel.h"
#include "core/wire/codec.h"

namespace vof {

template <Codec C>
class RemoteCursor {
 public:
  RemoteCursor() = default;
  // Starts `skip_bytes` into `descriptors`, a multiple of kDescriptorBytes long.
  RemoteCursor(std::span<const std::byte> descriptors, uint32_t skip_bytes)
      : descriptors_(descriptors) {
    while (skip_bytes > 0 && !at_end()) {
      const uint32_t length = Current().length_bytes;
      if (skip_bytes < length) break;
      skip_bytes -= length;
      descriptors_ = descriptors_.subspan(C::kDescriptorBytes);
    }
    offset_ = at_end() ? 0 : skip_bytes;
  }

  bool at_end() const { return descriptors_.empty(); }

  // The next piece in one range of remote addresses under one key, at most `max_bytes` long (more
  // than 0). Of size 0 at the end.
  RemoteBuffer Next(uint32_t max_bytes) {
    RemoteBuffer piece;
    while (!at_end() && piece.size_bytes < max_bytes) {
      const Segment segment = Current();
      const uint64_t address = segment.address + offset_;
      if (piece.size_bytes == 0) {
        piece.address = address;
        piece.key = segment.key;
      } else if (segment.key != piece.key || address != piece.address + piece.size_bytes) {
        break;
      }
      const uint32_t part = std::min(segment.length_bytes - offset_, max_bytes - piece.size_bytes);
      piece.size_bytes += part;
      offset_ += part;
      if (offset_ == segment.length_bytes) {
        descriptors_ = descriptors_.subspan(C::kDescriptorBytes);
        offset_ = 0;
      }
    }
    return piece;
  }

 private:
  Segment Current() const { return C::DecodeSegment(descriptors_.first(C::kDescriptorBytes)); }

  std::span<const std::byte> descriptors_;
  uint32_t offset_ = 0;  // into the first of them
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_REMOTE_CURSOR_H_
