// SPDX-License-Identifier: Apache-2.0
//
// Takes the message of a keyed virtqueue command apart and checks it against every limit before
// memory is taken or an address is used.
//
//   KeyedShape shape;
//   switch (ParseKeyedRequest<V5>(command, message, limits, &shape, &error)) {
//     case ParseResult::kComplete: ...   // shape.inline_bytes are here, the rest is to be fetched
//
// Nothing is copied: the shape refers to the message. Pure; any thread. Source: docs/protocol.md,
// "Keyed transmission" and "Inline data (keyed)".
#ifndef VOF_CORE_ENGINE_KEYED_REQUEST_PARSER_H_
#define VOF_CORE_ENGINE_KEYED_REQUEST_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/limits.h"
#include "core/engine/target_request_parser.h"
#include "core/wire/codec.h"
#include "core/wire/v5_inline.h"

namespace vof {

// `v5` counts descriptors in a byte; `ref` peers have no more segments than a stream request.
inline constexpr size_t kMaxKeyedDescriptorsV5 = 255;

struct KeyedLimits {
  RequestLimits sizes;
  bool inline_accepted = false;
  uint32_t max_inline_request_bytes = 0;
  uint32_t max_inline_completion_bytes = 0;
};

struct KeyedShape {
  uint16_t command_id = 0;
  uint16_t num_writable = 0;  // `ref`: device-writable descriptors
  uint32_t out_bytes = 0;
  uint32_t in_bytes = 0;
  std::span<const std::byte> inline_bytes;  // the first of the readable part
  // Of what is not inline: the readable part from the start, then the writable one (which may be
  // left out when it fits into the completion).
  std::span<const std::byte> descriptors;
  uint32_t writable_offset = 0;  // where the writable part begins in the range they describe
  bool has_writable_descriptors = false;
};

namespace keyed_internal {

// `v5`: one logical range, readable part first; a descriptor may span the border.
inline ParseResult CheckRangeV5(uint64_t described_bytes, const KeyedLimits& limits,
                                KeyedShape* shape, WireError* error) {
  const uint64_t readable = shape->out_bytes - shape->inline_bytes.size();
  shape->writable_offset = static_cast<uint32_t>(readable);
  if (described_bytes == readable + shape->in_bytes) {
    shape->has_writable_descriptors = shape->in_bytes > 0;
    return ParseResult::kComplete;
  }
  const bool may_leave_out =
      limits.inline_accepted && shape->in_bytes <= limits.max_inline_completion_bytes;
  if (described_bytes == readable && may_leave_out) return ParseResult::kComplete;
  *error = WireError::kDescriptorTotal;
  return ParseResult::kBroken;
}

// Sum of the lengths, or the rule broken.
template <Codec C>
uint64_t SumLengths(std::span<const std::byte> descriptors, WireError* error) {
  uint64_t sum = 0;
  for (size_t at = 0; at < descriptors.size(); at += C::kDescriptorBytes) {
    const Segment segment = C::DecodeSegment(descriptors.subspan(at, C::kDescriptorBytes));
    if (segment.length_bytes == 0) *error = WireError::kZeroLengthSegment;
    if (segment.address + segment.length_bytes < segment.address) {
      *error = WireError::kAddressWraps;
    }
    sum += segment.length_bytes;
  }
  return sum;
}

template <Codec C>
ParseResult ParseV5(const Command& command, std::span<const std::byte> message,
                    const KeyedLimits& limits, KeyedShape* shape, WireError* error) {
  if (command.out_length > limits.sizes.max_out_bytes) return ParseResult::kOutTooLarge;
  if (command.in_length > limits.sizes.max_in_bytes) return ParseResult::kInTooLarge;
  shape->out_bytes = command.out_length;
  shape->in_bytes = command.in_length;
  size_t inline_bytes = 0;
  size_t num_descriptors = (message.size() - kHeaderBytes) / C::kDescriptorBytes;
  if (limits.inline_accepted) {
    const InlineFields fields = DecodeInlineFields(message.first<kHeaderBytes>());
    inline_bytes = fields.inline_bytes;
    num_descriptors = fields.ndesc;
    if (inline_bytes > limits.max_inline_request_bytes || inline_bytes > shape->out_bytes) {
      *error = WireError::kInlineLength;
      return ParseResult::kBroken;
    }
  }
  const size_t descriptor_bytes = num_descriptors * C::kDescriptorBytes;
  if (message.size() != kHeaderBytes + descriptor_bytes + inline_bytes) {
    *error = WireError::kMessageLength;
    return ParseResult::kBroken;
  }
  if (num_descriptors > kMaxKeyedDescriptorsV5) {
    *error = WireError::kTooManyDescriptors;
    return ParseResult::kBroken;
  }
  shape->descriptors = message.subspan(kHeaderBytes, descriptor_bytes);
  shape->inline_bytes = message.subspan(kHeaderBytes + descriptor_bytes);
  const uint64_t described = SumLengths<C>(shape->descriptors, error);
  if (*error != WireError::kNone) return ParseResult::kBroken;
  return CheckRangeV5(described, limits, shape, error);
}

template <Codec C>
ParseResult ParseRef(const Command& command, std::span<const std::byte> message,
                     const KeyedLimits& limits, KeyedShape* shape, WireError* error) {
  const auto broken = [error](WireError rule) {
    *error = rule;
    return ParseResult::kBroken;
  };
  if (command.ndesc == 0) return broken(WireError::kNoDescriptors);
  if (command.ndesc > kMaxSegments) return broken(WireError::kTooManyDescriptors);
  if (message.size() != kHeaderBytes + command.ndesc * C::kDescriptorBytes) {
    return broken(WireError::kMessageLength);
  }
  shape->descriptors = message.subspan(kHeaderBytes);
  SumLengths<C>(shape->descriptors, error);
  if (*error != WireError::kNone) return ParseResult::kBroken;
  RequestShape sizes;
  *error = CheckSegments<C>(shape->descriptors, limits.sizes, &sizes);
  if (*error != WireError::kNone) return ParseResult::kBroken;
  shape->out_bytes = sizes.out_bytes;
  shape->in_bytes = sizes.in_bytes;
  shape->num_writable = sizes.num_segments;
  shape->writable_offset = sizes.out_bytes;
  shape->has_writable_descriptors = sizes.num_segments > 0;
  return ParseResult::kComplete;
}

}  // namespace keyed_internal

// `message` is whole, at least a header long; `command` was decoded from its front. Never
// kNeedMore.
template <Codec C>
ParseResult ParseKeyedRequest(const Command& command, std::span<const std::byte> message,
                              const KeyedLimits& limits, KeyedShape* shape, WireError* error) {
  *shape = {};
  *error = WireError::kNone;
  shape->command_id = command.command_id;
  if constexpr (C::kDialect == Dialect::kV5) {
    return keyed_internal::ParseV5<C>(command, message, limits, shape, error);
  } else {
    return keyed_internal::ParseRef<C>(command, message, limits, shape, error);
  }
}

}  // namespace vof

#endif  // VOF_CORE_ENGINE_KEYED_REQUEST_PARSER_H_
