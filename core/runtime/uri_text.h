// SPDX-License-Identifier: Apache-2.0
//
// Escapes and numbers of URIs. For uri*.cc; pure.
//
//   PercentDecode("disk%200") == "disk 0", PercentDecode("50%") == nullopt
//   PercentEncode("disk 0", "/") == "disk%200"
#ifndef VOF_CORE_RUNTIME_URI_TEXT_H_
#define VOF_CORE_RUNTIME_URI_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vof {

constexpr char LowerCase(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = LowerCase(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Once; nothing when a '%' is not followed by two hexadecimal digits.
std::optional<std::string> PercentDecode(std::string_view text);
// Escapes all but letters, digits, "-._~" and the characters of `plain`.
std::string PercentEncode(std::string_view text, std::string_view plain);
// Digits only, at most `largest`.
std::optional<uint64_t> ParseDecimal(std::string_view digits, uint64_t largest);

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_URI_TEXT_H_
