// SPDX-License-Identifier: Apache-2.0
#include "devices/net/frame.h"

#include <gtest/gtest.h>

#include <vector>

#include "devices/net/testing/cut.h"

namespace vof {
namespace {

using Bytes = std::vector<uint8_t>;

const Bytes kUntagged = {0x52, 0x54, 0, 0, 0, 1, 0x52, 0x54, 0, 0, 0, 2, 0x08, 0x00};

Bytes Tagged(uint16_t outer_type, uint16_t control, const Bytes& rest) {
  Bytes frame(kUntagged.begin(), kUntagged.begin() + 12);
  for (const uint16_t word : {outer_type, control}) {
    frame.push_back(static_cast<uint8_t>(word >> 8));
    frame.push_back(static_cast<uint8_t>(word));
  }
  frame.insert(frame.end(), rest.begin(), rest.end());
  return frame;
}

// Cut into pieces of `piece_bytes`.
bool Parse(const Bytes& frame, size_t piece_bytes, FrameHead* head) {
  const std::vector<ConstBuffer> pieces = CutInto(std::as_bytes(std::span(frame)), piece_bytes);
  return ParseFrameHead(BufferReader(pieces), head);
}

TEST(FrameTest, WithoutTagsCutInAnyWay) {
  for (size_t piece_bytes = 1; piece_bytes <= kUntagged.size(); ++piece_bytes) {
    FrameHead head;
    ASSERT_TRUE(Parse(kUntagged, piece_bytes, &head));
    EXPECT_EQ(FormatMac(head.destination), "52:54:00:00:00:01");
    EXPECT_EQ(FormatMac(head.source), "52:54:00:00:00:02");
    EXPECT_EQ(head.ether_type, kEtherTypeIpv4);
    EXPECT_EQ(head.vlan_id, 0);
    EXPECT_EQ(head.head_bytes, 14u);
  }
}

TEST(FrameTest, TheOuterTagSaysWhichVlan) {
  FrameHead head;
  ASSERT_TRUE(Parse(Tagged(kEtherTypeVlan, 0xa007, {0x86, 0xdd}), 3, &head));
  EXPECT_EQ(head.vlan_id, 7) << "without the priority";
  EXPECT_EQ(head.ether_type, kEtherTypeIpv6);
  EXPECT_EQ(head.head_bytes, 18u);
  ASSERT_TRUE(
      Parse(Tagged(kEtherTypeServiceVlan, 9, {0x81, 0x00, 0x00, 0x08, 0x08, 0x00}), 5, &head));
  EXPECT_EQ(head.vlan_id, 9);
  EXPECT_EQ(head.ether_type, kEtherTypeIpv4);
  EXPECT_EQ(head.head_bytes, 22u);
}

TEST(FrameTest, ATagOfVlanZeroIsAPriority) {
  FrameHead head;
  ASSERT_TRUE(Parse(Tagged(kEtherTypeVlan, 0x6000, {0x08, 0x00}), 100, &head));
  EXPECT_EQ(head.vlan_id, 0);
}

TEST(FrameTest, AThirdTagIsPayload) {
  FrameHead head;
  const Bytes inner = {0x81, 0x00, 0x00, 0x08, 0x81, 0x00, 0x00, 0x09, 0x08, 0x00};
  ASSERT_TRUE(Parse(Tagged(kEtherTypeServiceVlan, 7, inner), 100, &head));
  EXPECT_EQ(head.ether_type, kEtherTypeVlan);
  EXPECT_EQ(head.head_bytes, 22u);
}

TEST(FrameTest, EndsBeforeItsHead) {
  const Bytes whole = Tagged(kEtherTypeServiceVlan, 7, {0x81, 0x00, 0x00, 0x08, 0x08, 0x00});
  FrameHead head;
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(
        Parse(Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)), 4, &head))
        << size;
  }
  EXPECT_TRUE(Parse(whole, 4, &head));
}

}  // namespace
}  // namespace vof
