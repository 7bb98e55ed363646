// SPDX-License-Identifier: Apache-2.0
//
// The 1024-byte body of Connect: who calls, whom it calls, and the session token.
//
//   ConnectBody body;
//   if (WireError e = DecodeConnectBody(Dialect::kV5, bytes, body); e != WireError::kNone)
//   Close(e); Find(body.target_name);
//
// Source: docs/protocol.md, "Roles", "Session token".
#ifndef VOF_CORE_WIRE_CONNECT_BODY_H_
#define VOF_CORE_WIRE_CONNECT_BODY_H_

#include <cstddef>
#include <span>
#include <string_view>

#include "core/base/limits.h"
#include "core/wire/codec.h"
#include "core/wire/command.h"

namespace vof {

using ConnectBodyIn = std::span<const std::byte, kConnectBodyBytes>;
using ConnectBodyOut = std::span<std::byte, kConnectBodyBytes>;

// Offsets of the fields.
inline constexpr size_t kInitiatorNameOffset = 0;
inline constexpr size_t kTargetNameOffset = 256;
inline constexpr size_t kSessionTokenOffset = 512;

// Whether a name can travel: at most 255 bytes, no NUL (kNameNotTerminated), UTF-8 (kNameNotUtf8;
// `ref` peers may use other bytes). An empty name is well-formed; whether somebody answers to it is
// another matter.
WireError CheckName(Dialect dialect, std::string_view name);

// Names end at their first NUL; what follows it is ignored. In `ref` there is no token: known
// initiators leave those bytes uninitialised. `body` is only changed on success. May allocate
// (names).
WireError DecodeConnectBody(Dialect dialect, ConnectBodyIn in, ConnectBody& body);

// Fails with the error of CheckName, `out` untouched. In `ref` the token is left out.
WireError EncodeConnectBody(Dialect dialect, const ConnectBody& body, ConnectBodyOut out);

}  // namespace vof

#endif  // VOF_CORE_WIRE_CONNECT_BODY_H_
