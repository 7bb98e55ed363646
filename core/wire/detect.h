// SPDX-License-Identifier: Apache-2.0
//
// Which dialect a connection speaks, told from its first 16 bytes.
//
//   switch (DetectDialect(first_header)) {
//     case DialectGuess::kV5:   return Start<V5>();
//     case DialectGuess::kRef:  return Start<Ref>();
//     case DialectGuess::kNone: return Close(WireError::kNotAConnect);   // without an answer
//   }
//
// Source: docs/protocol.md, introduction.
#ifndef VOF_CORE_WIRE_DETECT_H_
#define VOF_CORE_WIRE_DETECT_H_

#include "core/base/limits.h"
#include "core/base/little_endian.h"
#include "core/wire/codec.h"
#include "core/wire/ref_layout.h"
#include "core/wire/v5_layout.h"

namespace vof {

// The two are told apart by bytes 8..11. `ref` initiators leave what lies behind those of `ndesc`
// uninitialised, so that only two bytes count there.
inline DialectGuess DetectDialect(HeaderIn in) {
  static_assert(v5::opcode::kConnect == ref::opcode::kConnect);
  const auto ref_connect = ReadStruct<ref::ConnectCommand>(in);
  if (ref_connect.header.opcode != ref::opcode::kConnect) return DialectGuess::kNone;
  if (ref_connect.ndesc == 1) return DialectGuess::kRef;
  const auto v5_connect = ReadStruct<v5::ConnectCommand>(in);
  if (v5_connect.body_length == 0 || v5_connect.body_length == kConnectBodyBytes) {
    return DialectGuess::kV5;
  }
  return DialectGuess::kNone;
}

}  // namespace vof

#endif  // VOF_CORE_WIRE_DETECT_H_
