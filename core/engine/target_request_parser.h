// SPDX-License-Identifier: Apache-2.0
//
// What surrounds a virtqueue command on a stream, checked against every limit before memory is
// taken.
//
//   RequestShape shape;
//   switch (ParseRequest<Ref>(command, received, limits, &shape, &header_bytes, &error)) {
//     case ParseResult::kComplete: ...   // payload begins at received[header_bytes]
//     case ParseResult::kNeedMore: ...   // keep the bytes, come back with more
//
// Pure; any thread. Source: docs/protocol.md, "Dialect ref" and "Dialect v5".
#ifndef VOF_CORE_ENGINE_TARGET_REQUEST_PARSER_H_
#define VOF_CORE_ENGINE_TARGET_REQUEST_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/engine/target_virtqueue.h"
#include "core/wire/codec.h"
#include "core/wire/command.h"

namespace vof {

struct RequestLimits {
  uint32_t max_out_bytes = kMaxRequestBytes;
  uint32_t max_in_bytes = kMaxRequestBytes;
};

enum class ParseResult : uint8_t {
  kComplete,
  kNeedMore,
  kOutTooLarge,  // `v5`: answered, then closed
  kInTooLarge,
  kBroken,  // closed
};

// The descriptors that follow a `ref` command. Sums in 64 bits: 1100 lengths of 32 bits cannot
// wrap.
template <Codec C>
WireError CheckSegments(std::span<const std::byte> descriptors, const RequestLimits& limits,
                        RequestShape* shape) {
  uint64_t out_bytes = 0, in_bytes = 0;
  size_t first_writable = descriptors.size();
  for (size_t at = 0; at < descriptors.size(); at += C::kDescriptorBytes) {
    const Segment segment = C::DecodeSegment(descriptors.subspan(at, C::kDescriptorBytes));
    if (segment.length_bytes == 0) return WireError::kZeroLengthSegment;
    if (segment.writable) {
      if (first_writable == descriptors.size()) first_writable = at;
      in_bytes += segment.length_bytes;
    } else {
      if (first_writable != descriptors.size()) return WireError::kSegmentOrder;
      out_bytes += segment.length_bytes;
    }
  }
  if (out_bytes > limits.max_out_bytes || in_bytes > limits.max_in_bytes) {
    return WireError::kRequestTooLarge;
  }
  shape->out_bytes = static_cast<uint32_t>(out_bytes);
  shape->in_bytes = static_cast<uint32_t>(in_bytes);
  shape->segments = descriptors.subspan(first_writable);
  shape->num_segments = static_cast<uint16_t>(shape->segments.size() / C::kDescriptorBytes);
  return WireError::kNone;
}

// `received` starts with the header that `command` was decoded from.
template <Codec C>
ParseResult ParseRequest(const Command& command, std::span<const std::byte> received,
                         const RequestLimits& limits, RequestShape* shape, size_t* header_bytes,
                         WireError* error) {
  shape->command_id = command.command_id;
  *header_bytes = kHeaderBytes;
  if constexpr (C::kSegmentedStreams) {
    if (command.ndesc == 0) {
      *error = WireError::kNoDescriptors;
      return ParseResult::kBroken;
    }
    if (command.ndesc > kMaxSegments) {
      *error = WireError::kTooManyDescriptors;
      return ParseResult::kBroken;
    }
    const size_t descriptor_bytes = command.ndesc * C::kDescriptorBytes;
    *header_bytes += descriptor_bytes;
    if (received.size() < *header_bytes) return ParseResult::kNeedMore;
    *error = CheckSegments<C>(received.subspan(kHeaderBytes, descriptor_bytes), limits, shape);
    return *error == WireError::kNone ? ParseResult::kComplete : ParseResult::kBroken;
  } else {
    if (command.out_length > limits.max_out_bytes) return ParseResult::kOutTooLarge;
    if (command.in_length > limits.max_in_bytes) return ParseResult::kInTooLarge;
    shape->out_bytes = command.out_length;
    shape->in_bytes = command.in_length;
    return ParseResult::kComplete;
  }
}

}  // namespace vof

#endif  // VOF_CORE_ENGINE_TARGET_REQUEST_PARSER_H_
