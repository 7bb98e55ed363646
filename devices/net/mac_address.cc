// SPDX-License-Identifier: Apache-2.0
#include "devices/net/mac_address.h"

#include "absl/strings/str_format.h"

namespace vof {
namespace {

constexpr size_t kTextBytes = kMacBytes * 3 - 1;

// -1: no hexadecimal digit.
int ValueOf(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

}  // namespace

std::string FormatMac(const MacAddress& mac) {
  const auto& b = mac.bytes;
  return absl::StrFormat("%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3], b[4], b[5]);
}

std::optional<MacAddress> ParseMac(std::string_view text) {
  if (text.size() != kTextBytes) return std::nullopt;
  MacAddress mac;
  for (size_t i = 0; i < kMacBytes; ++i) {
    const int high = ValueOf(text[3 * i]), low = ValueOf(text[3 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    if (i + 1 < kMacBytes && text[3 * i + 2] != ':') return std::nullopt;
    mac.bytes[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return mac;
}

}  // namespace vof
