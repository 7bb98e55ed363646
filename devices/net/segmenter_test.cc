// SPDX-License-Identifier: Apache-2.0
#include "devices/net/segmenter.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "devices/net/big_endian.h"
#include "devices/net/checksum.h"
#include "devices/net/frame.h"

namespace vof {
namespace {

using Bytes = std::vector<std::byte>;

struct Shape {
  bool ipv4 = true;
  bool tcp = true;
  size_t options_bytes = 0;    // of TCP
  size_t extension_bytes = 0;  // of IPv6
  size_t tag_bytes = 0;
  size_t payload_bytes = 4000;

  size_t network_at() const { return kFrameHeadBytes + tag_bytes; }
  size_t transport_at() const { return network_at() + (ipv4 ? 20 : 40 + extension_bytes); }
  size_t payload_at() const { return transport_at() + (tcp ? 20 + options_bytes : 8); }
  uint8_t protocol() const { return tcp ? 6 : 17; }
};

constexpr uint32_t kSequence = 0xfffffff0;  // goes around
constexpr uint16_t kId = 0xfffe;

Bytes MakeFrame(const Shape& shape) {
  Bytes frame(shape.payload_at() + shape.payload_bytes);
  for (size_t i = 0; i < frame.size(); ++i) frame[i] = static_cast<std::byte>(i * 7 + i / 256);
  const std::span<std::byte> all(frame);
  if (shape.tag_bytes != 0) WriteBigEndian16(kEtherTypeVlan, all, 12);
  WriteBigEndian16(shape.ipv4 ? kEtherTypeIpv4 : kEtherTypeIpv6, all, 12 + shape.tag_bytes);
  const std::span<std::byte> packet = all.subspan(shape.network_at());
  if (shape.ipv4) {
    packet[0] = std::byte{0x45};
    WriteBigEndian16(kId, packet, 4);
    WriteBigEndian16(0x4000, packet, 6);  // do not fragment
    packet[9] = static_cast<std::byte>(shape.protocol());
  } else {
    packet[0] = std::byte{0x60};
    packet[6] = static_cast<std::byte>(shape.protocol());
  }
  const std::span<std::byte> transport = all.subspan(shape.transport_at());
  if (shape.tcp) {
    WriteBigEndian32(kSequence, transport, 4);
    transport[12] = static_cast<std::byte>((20 + shape.options_bytes) / 4 << 4);
    transport[13] = std::byte{0x80 | 0x10 | 0x08 | 0x01};  // CWR ACK PSH FIN
  }
  return frame;
}

NetHeader MakeHeader(const Shape& shape, uint16_t gso_size = 1000) {
  NetHeader header;
  header.flags = kNetHeaderNeedsChecksum;
  header.gso_type = !shape.tcp ? kNetGsoUdpL4 : shape.ipv4 ? kNetGsoTcp4 : kNetGsoTcp6;
  header.gso_size = gso_size;
  header.checksum_start = static_cast<uint16_t>(shape.transport_at());
  header.checksum_offset = shape.tcp ? 16 : 6;
  return header;
}

// Whoever receives it sums everything and the pseudo header to 0xffff.
bool HasGoodChecksums(const Bytes& segment, const Shape& shape) {
  const std::span<const std::byte> packet = std::span(segment).subspan(shape.network_at());
  if (shape.ipv4) {
    ChecksumSum ip;
    ip.Add(packet.first(20));
    if (ip.Checksum() != 0) return false;
  }
  const std::span<const std::byte> transport = std::span(segment).subspan(shape.transport_at());
  ChecksumSum sum;
  sum.Add(shape.ipv4 ? packet.subspan(12, 8) : packet.subspan(8, 32));
  sum.AddWord(shape.protocol());
  sum.AddWord(static_cast<uint16_t>(transport.size()));
  sum.Add(transport);
  return sum.Checksum() == 0;
}

std::vector<Bytes> Cut(const Bytes& frame, const NetHeader& header) {
  Segmenter segmenter;
  std::vector<Bytes> segments;
  if (!segmenter.Begin(frame, header)) return segments;
  while (segmenter.HasNext()) {
    Bytes segment(segmenter.max_segment_bytes());
    segment.resize(segmenter.Next(segment));
    segments.push_back(segment);
  }
  return segments;
}

class SegmenterTest : public testing::TestWithParam<Shape> {};

TEST_P(SegmenterTest, SegmentsAreWholeFramesThatCarryEverything) {
  const Shape& shape = GetParam();
  const Bytes frame = MakeFrame(shape);
  for (const uint16_t gso_size : {1, 7, 999, 1000, 3999, 4000, 4001, 65535}) {
    const std::vector<Bytes> segments = Cut(frame, MakeHeader(shape, gso_size));
    const size_t expected = (shape.payload_bytes + gso_size - 1) / gso_size;
    ASSERT_EQ(segments.size(), expected) << gso_size;
    Bytes payload;
    for (const Bytes& segment : segments) {
      ASSERT_LE(segment.size(), shape.payload_at() + gso_size);
      ASSERT_TRUE(HasGoodChecksums(segment, shape)) << gso_size;
      payload.insert(payload.end(), segment.begin() + static_cast<ptrdiff_t>(shape.payload_at()),
                     segment.end());
    }
    EXPECT_EQ(payload,
              Bytes(frame.begin() + static_cast<ptrdiff_t>(shape.payload_at()), frame.end()));
  }
}

TEST_P(SegmenterTest, HeadersTellWhatEachSegmentIs) {
  const Shape& shape = GetParam();
  const std::vector<Bytes> segments = Cut(MakeFrame(shape), MakeHeader(shape));
  ASSERT_EQ(segments.size(), 4u);
  for (size_t i = 0; i < segments.size(); ++i) {
    const std::span<const std::byte> packet = std::span(segments[i]).subspan(shape.network_at());
    const std::span<const std::byte> transport =
        std::span(segments[i]).subspan(shape.transport_at());
    if (shape.ipv4) {
      EXPECT_EQ(ReadBigEndian16(packet, 2), packet.size());
      EXPECT_EQ(ReadBigEndian16(packet, 4), static_cast<uint16_t>(kId + i));
    } else {
      EXPECT_EQ(ReadBigEndian16(packet, 4), packet.size() - 40);
    }
    if (!shape.tcp) {
      EXPECT_EQ(ReadBigEndian16(transport, 4), transport.size());
      continue;
    }
    EXPECT_EQ(ReadBigEndian32(transport, 4), static_cast<uint32_t>(kSequence + 1000 * i));
    const int flags = std::to_integer<int>(transport[13]);
    EXPECT_EQ((flags & 0x80) != 0, i == 0) << "the congestion bit is for the first";
    EXPECT_EQ((flags & 0x09) == 0x09, i == 3) << "the end is in the last";
    EXPECT_TRUE((flags & 0x10) != 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, SegmenterTest,
                         testing::Values(Shape{}, Shape{.options_bytes = 12}, Shape{.tag_bytes = 4},
                                         Shape{.ipv4 = false},
                                         Shape{.ipv4 = false, .extension_bytes = 8},
                                         Shape{.tcp = false},
                                         Shape{.ipv4 = false, .tcp = false, .tag_bytes = 4}));

TEST(SegmenterHostileTest, HeadersThatDoNotFitTogether) {
  const Shape shape;
  const auto refuses = [&](const std::function<void(Bytes*, NetHeader*)>& spoil) {
    Bytes frame = MakeFrame(shape);
    NetHeader header = MakeHeader(shape);
    spoil(&frame, &header);
    return Cut(frame, header).empty();
  };
  const auto set = [&](size_t at, int value) {
    return [=](Bytes* frame, NetHeader*) { (*frame)[at] = static_cast<std::byte>(value); };
  };
  EXPECT_FALSE(refuses([](Bytes*, NetHeader*) {}));
  EXPECT_TRUE(refuses(set(14, 0x55))) << "another version";
  EXPECT_TRUE(refuses(set(14, 0x46))) << "a header of another length";
  EXPECT_TRUE(refuses(set(23, 17))) << "another protocol";
  EXPECT_TRUE(refuses(set(20, 0x20))) << "a fragment";
  EXPECT_TRUE(refuses(set(21, 0x01))) << "a fragment";
  EXPECT_TRUE(refuses(set(46, 0x40))) << "a header of TCP that is too short";
  EXPECT_TRUE(refuses([](Bytes*, NetHeader* h) { h->checksum_offset = 6; }));
  EXPECT_TRUE(refuses([](Bytes*, NetHeader* h) { h->checksum_start = 14; }));
  EXPECT_TRUE(refuses([](Bytes*, NetHeader* h) { h->checksum_start = 0xffff; }));
  EXPECT_TRUE(refuses([](Bytes*, NetHeader* h) { h->gso_type = kNetGsoUdp; }));
  EXPECT_TRUE(refuses([](Bytes*, NetHeader* h) { h->gso_size = 0; }));
  for (size_t size = 0; size <= shape.payload_at(); ++size) {
    EXPECT_TRUE(refuses([&](Bytes* frame, NetHeader*) { frame->resize(size); })) << size;
  }
}

}  // namespace
}  // namespace vof
