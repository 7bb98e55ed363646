// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a keyed `vq` command that the INLINE extension gives a meaning.
//
//   const InlineFields fields = DecodeInlineFields(header);
//   // the message is 16 + 16 * fields.ndesc + fields.inline_bytes long
//
// Source: docs/protocol.md, "Inline data (keyed)". Any thread.
#ifndef VOF_CORE_WIRE_V5_INLINE_H_
#define VOF_CORE_WIRE_V5_INLINE_H_

#include <cstddef>
#include <cstdint>

#include "core/base/little_endian.h"
#include "core/wire/codec.h"

namespace vof {

struct InlineFields {
  uint8_t ndesc = 0;
  uint16_t inline_bytes = 0;  // the first of the readable part, behind the descriptors

  bool operator==(const InlineFields&) const = default;
};

namespace v5 {

struct InlineVqCommand {
  uint8_t header[4];
  uint8_t ndesc;
  uint8_t zero;
  Le16 inline_length;
  uint8_t lengths[8];
};
static_assert(sizeof(InlineVqCommand) == 16 && offsetof(InlineVqCommand, ndesc) == 4 &&
              offsetof(InlineVqCommand, inline_length) == 6);

}  // namespace v5

inline InlineFields DecodeInlineFields(HeaderIn in) {
  const auto wire = ReadStruct<v5::InlineVqCommand>(in);
  return {wire.ndesc, wire.inline_length};
}

// Into a header that V5::EncodeCommand has written.
inline void EncodeInlineFields(const InlineFields& fields, HeaderOut out) {
  auto wire = ReadStruct<v5::InlineVqCommand>(HeaderIn(out));
  wire.ndesc = fields.ndesc;
  wire.inline_length = fields.inline_bytes;
  WriteStruct(wire, out);
}

}  // namespace vof

#endif  // VOF_CORE_WIRE_V5_INLINE_H_
