// SPDX-License-Identifier: Apache-2.0
#include "devices/net/receive_filter.h"

#include <gtest/gtest.h>

#include <vector>

namespace vof {
namespace {

MacAddress Mac(const char* text) { return *ParseMac(text); }

FrameHead To(const char* destination, uint16_t vlan_id = 0) {
  FrameHead head;
  head.destination = Mac(destination);
  head.vlan_id = vlan_id;
  return head;
}

const MacAddress kOwn = *ParseMac("52:54:00:00:00:01");
constexpr char kOwnText[] = "52:54:00:00:00:01", kOther[] = "52:54:00:00:00:02",
               kGroup[] = "33:33:00:00:00:01", kBroadcast[] = "ff:ff:ff:ff:ff:ff";

class ReceiveFilterTest : public testing::Test {
 protected:
  ReceiveFilterTest() { filter_.SetMode(kNetRxPromiscuous, false); }

  ReceiveFilter filter_{kOwn, kNetFeatureControlRx};
};

TEST(ReceiveFilterStartTest, EverythingPassesUntilTheDriverSaysOtherwise) {
  const ReceiveFilter filter(kOwn, 0);
  for (const char* to : {kOwnText, kOther, kGroup, kBroadcast}) {
    EXPECT_TRUE(filter.Accepts(To(to)));
    EXPECT_TRUE(filter.Accepts(To(to, 4095)));
  }
}

TEST_F(ReceiveFilterTest, ItsOwnAddressAndBroadcast) {
  EXPECT_TRUE(filter_.Accepts(To(kOwnText)));
  EXPECT_TRUE(filter_.Accepts(To(kBroadcast)));
  EXPECT_FALSE(filter_.Accepts(To(kOther)));
  EXPECT_FALSE(filter_.Accepts(To(kGroup)));
  filter_.SetOwn(Mac(kOther));
  EXPECT_TRUE(filter_.Accepts(To(kOther)));
  EXPECT_FALSE(filter_.Accepts(To(kOwnText)));
}

TEST_F(ReceiveFilterTest, TablesAreReplaced) {
  filter_.SetTables(std::vector{Mac(kOther)}, std::vector{Mac(kGroup)});
  EXPECT_TRUE(filter_.Accepts(To(kOther)));
  EXPECT_TRUE(filter_.Accepts(To(kGroup)));
  EXPECT_FALSE(filter_.Accepts(To("33:33:00:00:00:02")));
  filter_.SetTables({}, {});
  EXPECT_FALSE(filter_.Accepts(To(kOther)));
  EXPECT_FALSE(filter_.Accepts(To(kGroup)));
}

TEST_F(ReceiveFilterTest, EveryAddressOfAFullTableIsFound) {
  std::vector<MacAddress> many;
  for (size_t i = 0; i < kMostFilterAddresses; ++i) {
    // Not in their order.
    many.push_back({{0x02, 0, 0, 0, static_cast<uint8_t>(i * 37 % kMostFilterAddresses), 1}});
  }
  filter_.SetTables(many, {});
  for (const MacAddress& mac : many) EXPECT_TRUE(filter_.Accepts(To(FormatMac(mac).c_str())));
  EXPECT_FALSE(filter_.Accepts(To("02:00:00:00:40:01")));
  EXPECT_FALSE(filter_.Accepts(To(kGroup)));
}

TEST_F(ReceiveFilterTest, ATableThatIsTooLongIsAllOfItsKind) {
  const std::vector<MacAddress> many(kMostFilterAddresses + 1, Mac(kGroup));
  filter_.SetTables({}, many);
  EXPECT_TRUE(filter_.Accepts(To("33:33:00:00:00:02")));
  EXPECT_FALSE(filter_.Accepts(To(kOther)));
  filter_.SetTables(std::vector<MacAddress>(kMostFilterAddresses + 1, Mac(kOther)), {});
  EXPECT_TRUE(filter_.Accepts(To("52:54:00:00:00:09")));
  EXPECT_FALSE(filter_.Accepts(To(kGroup)));
}

TEST_F(ReceiveFilterTest, Modes) {
  ASSERT_TRUE(filter_.SetMode(kNetRxAllMulticast, true));
  EXPECT_TRUE(filter_.Accepts(To(kGroup)));
  ASSERT_TRUE(filter_.SetMode(kNetRxNoMulticast, true));
  EXPECT_FALSE(filter_.Accepts(To(kGroup)));
  EXPECT_TRUE(filter_.Accepts(To(kBroadcast)));
  ASSERT_TRUE(filter_.SetMode(kNetRxAllUnicast, true));
  EXPECT_TRUE(filter_.Accepts(To(kOther)));
  ASSERT_TRUE(filter_.SetMode(kNetRxNoUnicast, true));
  EXPECT_FALSE(filter_.Accepts(To(kOwnText)));
  ASSERT_TRUE(filter_.SetMode(kNetRxNoBroadcast, true));
  EXPECT_FALSE(filter_.Accepts(To(kBroadcast)));
  ASSERT_TRUE(filter_.SetMode(kNetRxPromiscuous, true));
  for (const char* to : {kOwnText, kOther, kGroup, kBroadcast}) {
    EXPECT_TRUE(filter_.Accepts(To(to)));
  }
  EXPECT_FALSE(filter_.SetMode(6, true));
  EXPECT_FALSE(filter_.SetMode(255, true));
}

TEST(ReceiveFilterVlanTest, OnlyThoseThatWereAddedAndWhatHasNone) {
  ReceiveFilter filter(kOwn, kNetFeatureControlVlan);
  EXPECT_TRUE(filter.Accepts(To(kOwnText)));
  EXPECT_FALSE(filter.Accepts(To(kOwnText, 7)));
  filter.SetVlan(7, true);
  EXPECT_TRUE(filter.Accepts(To(kOwnText, 7)));
  EXPECT_FALSE(filter.Accepts(To(kOwnText, 8)));
  filter.SetVlan(7, false);
  EXPECT_FALSE(filter.Accepts(To(kOwnText, 7)));
  filter.SetVlan(4095, true);
  EXPECT_TRUE(filter.Accepts(To(kOwnText, 4095)));
}

}  // namespace
}  // namespace vof
