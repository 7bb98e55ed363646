// SPDX-License-Identifier: Apache-2.0
//
// Whether bytes are well-formed UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing beyond
// U+10FFFF.
//
//   if (!IsUtf8(name)) return WireError::kNameNotUtf8;
#ifndef VOF_CORE_WIRE_UTF8_H_
#define VOF_CORE_WIRE_UTF8_H_

#include <string_view>

namespace vof {

bool IsUtf8(std::string_view text);

}  // namespace vof

#endif  // VOF_CORE_WIRE_UTF8_H_
