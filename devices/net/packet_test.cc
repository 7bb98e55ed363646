// SPDX-License-Identifier: Apache-2.0
#include "devices/net/packet.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

#include "devices/net/testing/cut.h"

namespace vof {
namespace {

constexpr uint64_t kEverything = ~uint64_t{0};
constexpr uint16_t kMtu = 1500;

// A frame of IPv4 of `frame_bytes` in all behind `header`.
std::vector<std::byte> Bytes(const NetHeader& header, size_t frame_bytes,
                             uint16_t ether_type = kEtherTypeIpv4) {
  std::vector<std::byte> bytes(sizeof(NetHeader) + frame_bytes, std::byte{0x11});
  std::memcpy(bytes.data(), &header, sizeof(header));
  if (frame_bytes >= kFrameHeadBytes) {
    bytes[sizeof(NetHeader) + 12] = static_cast<std::byte>(ether_type >> 8);
    bytes[sizeof(NetHeader) + 13] = static_cast<std::byte>(ether_type);
  }
  return bytes;
}

PacketRule Parse(const std::vector<std::byte>& bytes, Packet* packet,
                 uint64_t features = kEverything, size_t piece_bytes = 5) {
  const std::vector<ConstBuffer> pieces = CutInto(bytes, piece_bytes);
  // Only while it is parsed; the frame of `packet` is not read afterwards.
  return ParsePacket(pieces, {.features = features, .mtu = kMtu}, packet);
}

PacketRule RuleOf(const NetHeader& header, size_t frame_bytes, uint64_t features = kEverything,
                  uint16_t ether_type = kEtherTypeIpv4) {
  Packet packet;
  return Parse(Bytes(header, frame_bytes, ether_type), &packet, features);
}

NetHeader Checksum(uint16_t start, uint16_t offset) {
  NetHeader header;
  header.flags = kNetHeaderNeedsChecksum;
  header.checksum_start = start;
  header.checksum_offset = offset;
  return header;
}

NetHeader Gso(uint8_t type, uint16_t size = 1448) {
  NetHeader header = Checksum(34, 16);
  header.gso_type = type;
  header.gso_size = size;
  return header;
}

TEST(PacketTest, PlainFramesCutInAnyWay) {
  const std::vector<std::byte> bytes = Bytes({}, 60);
  for (size_t piece_bytes = 1; piece_bytes <= bytes.size(); ++piece_bytes) {
    Packet packet;
    ASSERT_EQ(Parse(bytes, &packet, 0, piece_bytes), PacketRule::kNone);
    EXPECT_EQ(packet.frame.remaining_bytes(), 60u);
    EXPECT_EQ(packet.head.ether_type, kEtherTypeIpv4);
  }
}

TEST(PacketTest, TooShortAndTooLong) {  // field failure 24
  Packet packet;
  for (size_t size = 0; size < sizeof(NetHeader); ++size) {
    EXPECT_EQ(Parse(std::vector<std::byte>(size), &packet), PacketRule::kHeaderTooShort);
  }
  for (size_t size = 0; size < kFrameHeadBytes; ++size) {
    EXPECT_EQ(RuleOf({}, size), PacketRule::kFrameTooShort) << size;
  }
  EXPECT_EQ(RuleOf({}, kFrameHeadBytes), PacketRule::kNone);
  EXPECT_EQ(RuleOf({}, kFrameHeadBytes + kMtu), PacketRule::kNone);
  EXPECT_EQ(RuleOf({}, kFrameHeadBytes + kMtu + 1), PacketRule::kFrameTooLong);
  EXPECT_EQ(RuleOf(Gso(kNetGsoTcp4), kMostFrameBytes), PacketRule::kNone);
  EXPECT_EQ(RuleOf(Gso(kNetGsoTcp4), kMostFrameBytes + 1), PacketRule::kFrameTooLong);
}

TEST(PacketTest, ATagDoesNotCountForTheMtu) {
  std::vector<std::byte> bytes = Bytes({}, kFrameHeadBytes + kVlanTagBytes + kMtu, kEtherTypeVlan);
  Packet packet;
  EXPECT_EQ(Parse(bytes, &packet), PacketRule::kNone);
  bytes.push_back(std::byte{0});
  EXPECT_EQ(Parse(bytes, &packet), PacketRule::kFrameTooLong);
}

TEST(PacketTest, ThePlaceOfTheChecksumIsInside) {
  EXPECT_EQ(RuleOf(Checksum(34, 16), 52), PacketRule::kNone);
  EXPECT_EQ(RuleOf(Checksum(34, 17), 52), PacketRule::kChecksumOutside);
  EXPECT_EQ(RuleOf(Checksum(0xffff, 0xffff), 1000), PacketRule::kChecksumOutside);
  EXPECT_EQ(RuleOf(Checksum(0xffff, 1), 1000), PacketRule::kChecksumOutside);
  EXPECT_EQ(RuleOf(Checksum(13, 16), 100), PacketRule::kChecksumOutside) << "in the head";
  EXPECT_EQ(RuleOf(Checksum(34, 16), 60, kEverything & ~kNetFeatureChecksum),
            PacketRule::kChecksumNotNegotiated);
}

TEST(PacketTest, SegmentationOfEachKind) {
  const struct {
    uint8_t type;
    uint64_t feature;
    uint16_t ether_type, other;
  } kinds[] = {{kNetGsoTcp4, kNetFeatureHostTso4, kEtherTypeIpv4, kEtherTypeIpv6},
               {kNetGsoTcp6, kNetFeatureHostTso6, kEtherTypeIpv6, kEtherTypeIpv4},
               {kNetGsoUdp, kNetFeatureHostUfo, kEtherTypeIpv4, 0x0806},
               {kNetGsoUdpL4, kNetFeatureHostUso, kEtherTypeIpv6, 0x0806}};
  for (const auto& kind : kinds) {
    EXPECT_EQ(RuleOf(Gso(kind.type), 9000, kEverything, kind.ether_type), PacketRule::kNone);
    EXPECT_EQ(RuleOf(Gso(kind.type), 9000, kEverything & ~kind.feature, kind.ether_type),
              PacketRule::kGsoNotNegotiated);
    EXPECT_EQ(RuleOf(Gso(kind.type), 9000, kEverything, kind.other), PacketRule::kGsoOtherProtocol);
    EXPECT_EQ(RuleOf(Gso(kind.type, 0), 9000, kEverything, kind.ether_type),
              PacketRule::kGsoSizeZero);
  }
  NetHeader header = Gso(kNetGsoTcp4);
  header.flags = 0;
  EXPECT_EQ(RuleOf(header, 9000), PacketRule::kGsoWithoutChecksum);
  for (const int type : {2, 6, 0x7f, 0x80, 0x82}) {
    EXPECT_EQ(RuleOf(Gso(static_cast<uint8_t>(type)), 9000), PacketRule::kGsoUnknown) << type;
  }
}

TEST(PacketTest, CongestionBitsAreForTcp) {
  EXPECT_EQ(RuleOf(Gso(kNetGsoTcp4 | kNetGsoEcn), 9000), PacketRule::kNone);
  EXPECT_EQ(RuleOf(Gso(kNetGsoTcp4 | kNetGsoEcn), 9000, kEverything & ~kNetFeatureHostEcn),
            PacketRule::kEcnNotNegotiated);
  EXPECT_EQ(RuleOf(Gso(kNetGsoUdp | kNetGsoEcn), 9000), PacketRule::kEcnNotNegotiated);
}

TEST(PacketTest, WhatHasNoMeaningDoesNotTravelOn) {
  NetHeader header;
  header.flags = 0xfe;  // all but the one that is known
  header.header_length = 77;
  header.gso_size = 5;
  header.checksum_start = header.checksum_offset = 0xffff;
  header.num_buffers = 9;
  Packet packet;
  ASSERT_EQ(Parse(Bytes(header, 60), &packet), PacketRule::kNone);
  const NetHeader nothing;
  EXPECT_EQ(std::memcmp(&packet.header, &nothing, sizeof(nothing)), 0);
  ASSERT_EQ(Parse(Bytes(Gso(kNetGsoTcp4), 9000), &packet), PacketRule::kNone);
  EXPECT_EQ(packet.header.gso_size, 1448);
  EXPECT_EQ(packet.header.checksum_start, 34);
  EXPECT_EQ(packet.header.checksum_offset, 16);
}

TEST(PacketTest, EveryRuleHasItsOwnText) {
  std::set<std::string_view> texts;
  for (int rule = 0; rule < kNumPacketRules; ++rule) {
    texts.insert(DescribePacketRule(static_cast<PacketRule>(rule)));
  }
  EXPECT_EQ(texts.size(), static_cast<size_t>(kNumPacketRules));
  EXPECT_EQ(texts.count("unknown"), 0u);
}

}  // namespace
}  // namespace vof
