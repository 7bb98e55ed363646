// SPDX-License-Identifier: Apache-2.0
//
// An address of IEEE 802, and what its first byte says of it.
//
//   MacAddress mac{{0x52, 0x54, 0x00, 0x12, 0x34, 0x56}};
//   mac.is_multicast();           // false
//   FormatMac(mac);               // "52:54:00:12:34:56"
#ifndef VOF_DEVICES_NET_MAC_ADDRESS_H_
#define VOF_DEVICES_NET_MAC_ADDRESS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "devices/net/net_wire.h"

namespace vof {

struct MacAddress {
  std::array<uint8_t, kMacBytes> bytes = {};

  bool is_multicast() const { return (bytes[0] & 1) != 0; }  // broadcast included
  bool is_broadcast() const { return ToInteger() == 0xffffffffffff; }
  bool is_zero() const { return ToInteger() == 0; }
  // The first byte is the highest.
  uint64_t ToInteger() const {
    uint64_t value = 0;
    for (const uint8_t byte : bytes) value = value << 8 | byte;
    return value;
  }
  friend bool operator==(const MacAddress&, const MacAddress&) = default;
  friend bool operator<(const MacAddress& a, const MacAddress& b) {
    return a.ToInteger() < b.ToInteger();
  }
};
static_assert(sizeof(MacAddress) == kMacBytes && alignof(MacAddress) == 1);

// Six pairs of hexadecimal digits with colons in between, in small letters.
std::string FormatMac(const MacAddress& mac);
// The same in letters of any case; nothing for anything else.
std::optional<MacAddress> ParseMac(std::string_view text);

}  // namespace vof

#endif  // VOF_DEVICES_NET_MAC_ADDRESS_H_
