// SPDX-License-Identifier: Apache-2.0
#include "devices/net/checksum.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "devices/net/big_endian.h"

namespace vof {
namespace {

using Bytes = std::vector<std::byte>;

Bytes BytesOf(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

// As RFC 1071 writes it, one word after the other.
uint16_t Plainly(const Bytes& bytes) {
  uint32_t sum = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    sum += std::to_integer<uint32_t>(bytes[i]) << (i % 2 == 0 ? 8 : 0);
    sum = (sum & 0xffff) + (sum >> 16);
  }
  return static_cast<uint16_t>(~sum);
}

TEST(ChecksumTest, TheExampleOfTheRfc) {
  ChecksumSum sum;
  sum.Add(BytesOf({0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7}));
  EXPECT_EQ(sum.Checksum(), 0xffff - 0xddf2);
}

TEST(ChecksumTest, AKnownHeaderOfIpv4) {
  ChecksumSum sum;
  sum.Add(BytesOf({0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11,
                   0x00, 0x00, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7}));
  EXPECT_EQ(sum.Checksum(), 0xb861);
}

TEST(ChecksumTest, PiecesOfAnySizeGiveTheSame) {
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    Bytes bytes(random() % 200);
    for (std::byte& byte : bytes)
      byte = static_cast<std::byte>(random() % 3 == 0 ? 0xff : random());
    ChecksumSum sum;
    for (size_t at = 0; at < bytes.size();) {
      const size_t size = std::min<size_t>(1 + random() % 9, bytes.size() - at);
      sum.Add(std::span(bytes).subspan(at, size));
      sum.Add({});
      at += size;
    }
    ASSERT_EQ(sum.Checksum(), Plainly(bytes)) << round;
  }
}

TEST(ChecksumTest, LongRunsDoNotOverflow) {
  const Bytes ones(1 << 20, std::byte{0xff});
  ChecksumSum sum;
  for (int i = 0; i < 16; ++i) sum.Add(ones);
  EXPECT_EQ(sum.Checksum(), 0);
}

TEST(ChecksumTest, FinishesWhatADriverLeft) {
  // A datagram behind 34 bytes; its place holds the sum of the pseudo header.
  Bytes frame(34 + 8 + 5, std::byte{0x21});
  NetHeader header;
  header.flags = kNetHeaderNeedsChecksum;
  header.checksum_start = 34;
  header.checksum_offset = 6;
  WriteBigEndian16(0x1234, frame, 40);
  const uint16_t expected = Plainly(Bytes(frame.begin() + 34, frame.end()));
  const Bytes before = frame;
  FinishChecksum(frame, header);
  EXPECT_EQ(ReadBigEndian16(frame, 40), expected);
  for (size_t i = 0; i < frame.size(); ++i) {
    if (i == 40 || i == 41) continue;
    ASSERT_EQ(frame[i], before[i]) << i;
  }
}

TEST(ChecksumTest, ZeroIsWrittenAsItsOtherForm) {
  Bytes frame(34 + 4);
  NetHeader header;
  header.flags = kNetHeaderNeedsChecksum;
  header.checksum_start = 34;
  header.checksum_offset = 2;
  WriteBigEndian16(0xffff, frame, 34);
  FinishChecksum(frame, header);
  EXPECT_EQ(ReadBigEndian16(frame, 36), 0xffff);
}

}  // namespace
}  // namespace vof
