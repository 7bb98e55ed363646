// SPDX-License-Identifier: Apache-2.0
#include "devices/net/mac_address.h"

#include <gtest/gtest.h>

namespace vof {
namespace {

TEST(MacAddressTest, ReadsWhatItWrites) {
  const MacAddress mac{{0x52, 0x54, 0x00, 0x1a, 0xf4, 0x56}};
  EXPECT_EQ(FormatMac(mac), "52:54:00:1a:f4:56");
  EXPECT_EQ(ParseMac("52:54:00:1a:f4:56"), mac);
  EXPECT_EQ(ParseMac("52:54:00:1A:F4:56"), mac);
  EXPECT_EQ(mac.ToInteger(), 0x5254001af456u);
}

TEST(MacAddressTest, RefusesAnythingElse) {
  for (const char* text :
       {"", "52:54:00:1a:f4", "52:54:00:1a:f4:56:", "52-54-00-1a-f4-56", "52:54:00:1a:f4:5g",
        "+2:54:00:1a:f4:56", "52:54:00:1a:f4: 6", "5254.001a.f456.xx", "52:54:00:1a:f4:056"}) {
    EXPECT_EQ(ParseMac(text), std::nullopt) << text;
  }
}

TEST(MacAddressTest, TheFirstByteTellsWhoItIsFor) {
  EXPECT_TRUE(ParseMac("ff:ff:ff:ff:ff:ff")->is_broadcast());
  EXPECT_TRUE(ParseMac("ff:ff:ff:ff:ff:ff")->is_multicast());
  EXPECT_TRUE(ParseMac("33:33:00:00:00:01")->is_multicast());
  EXPECT_FALSE(ParseMac("33:33:00:00:00:01")->is_broadcast());
  EXPECT_FALSE(ParseMac("52:ff:ff:ff:ff:ff")->is_multicast());
  EXPECT_TRUE(MacAddress{}.is_zero());
}

}  // namespace
}  // namespace vof
