// SPDX-License-Identifier: Apache-2.0
#include "core/wire/connect_body.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "core/wire/utf8.h"

namespace vof {
namespace {

static_assert(kTargetNameOffset == kInitiatorNameOffset + kVqnFieldBytes);
static_assert(kSessionTokenOffset == kTargetNameOffset + kVqnFieldBytes);
static_assert(kSessionTokenOffset + kSessionTokenBytes <= kConnectBodyBytes);

WireError DecodeName(Dialect dialect, ConnectBodyIn in, size_t offset, std::string& name) {
  const auto field = in.subspan(offset, kVqnFieldBytes);
  const auto end = std::find(field.begin(), field.end(), std::byte{0});
  if (end == field.end()) return WireError::kNameNotTerminated;
  const auto length = static_cast<size_t>(end - field.begin());
  name.assign(reinterpret_cast<const char*>(field.data()), length);
  return CheckName(dialect, name);
}

}  // namespace

WireError CheckName(Dialect dialect, std::string_view name) {
  if (name.size() >= kVqnFieldBytes || name.find('\0') != std::string_view::npos) {
    return WireError::kNameNotTerminated;
  }
  if (dialect == Dialect::kV5 && !IsUtf8(name)) return WireError::kNameNotUtf8;
  return WireError::kNone;
}

WireError DecodeConnectBody(Dialect dialect, ConnectBodyIn in, ConnectBody& body) {
  ConnectBody decoded;
  WireError error = DecodeName(dialect, in, kInitiatorNameOffset, decoded.initiator_name);
  if (error != WireError::kNone) return error;
  error = DecodeName(dialect, in, kTargetNameOffset, decoded.target_name);
  if (error != WireError::kNone) return error;
  if (dialect == Dialect::kV5) {
    std::memcpy(decoded.token.data(), in.data() + kSessionTokenOffset, kSessionTokenBytes);
  }
  body = std::move(decoded);
  return WireError::kNone;
}

WireError EncodeConnectBody(Dialect dialect, const ConnectBody& body, ConnectBodyOut out) {
  for (const std::string* name : {&body.initiator_name, &body.target_name}) {
    if (WireError error = CheckName(dialect, *name); error != WireError::kNone) return error;
  }
  std::fill(out.begin(), out.end(), std::byte{0});
  std::memcpy(out.data() + kInitiatorNameOffset, body.initiator_name.data(),
              body.initiator_name.size());
  std::memcpy(out.data() + kTargetNameOffset, body.target_name.data(), body.target_name.size());
  if (dialect == Dialect::kV5) {
    std::memcpy(out.data() + kSessionTokenOffset, body.token.data(), kSessionTokenBytes);
  }
  return WireError::kNone;
}

}  // namespace vof
