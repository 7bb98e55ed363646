// SPDX-License-Identifier: Apache-2.0
#include "core/device/buffer_cursor.h"

#include <array>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace vof {
namespace {

// Cuts `bytes` into pieces at random places, empty pieces included.
template <typename Buffer, typename Byte>
std::vector<Buffer> Cut(std::span<Byte> bytes, std::mt19937& random) {
  std::vector<Buffer> pieces;
  size_t at = 0;
  while (at < bytes.size()) {
    const size_t size = random() % (bytes.size() - at + 1);
    pieces.push_back(Buffer(bytes.data() + at, size));
    at += size;
  }
  if (random() % 2 == 0) pieces.push_back(Buffer());
  return pieces;
}

std::vector<std::byte> Counting(size_t size) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i + 1);
  return bytes;
}

TEST(BufferReaderTest, DefaultIsAtItsEnd) {
  BufferReader in;
  char c;
  EXPECT_EQ(in.remaining_bytes(), 0u);
  EXPECT_FALSE(in.Read(&c, 1));
  EXPECT_TRUE(in.Read(&c, 0));
  EXPECT_EQ(in.Next(10).size_bytes, 0u);
}

TEST(BufferReaderTest, OnlyEmptyPiecesIsAtItsEnd) {
  const std::array<ConstBuffer, 3> pieces = {};
  BufferReader in{std::span<const ConstBuffer>(pieces)};
  EXPECT_EQ(in.remaining_bytes(), 0u);
  EXPECT_EQ(in.Next(1).size_bytes, 0u);
  EXPECT_FALSE(in.Skip(1));
}

TEST(BufferReaderTest, ReadsTheSameBytesWhereverTheCutsAre) {
  std::mt19937 random(1);
  const std::vector<std::byte> bytes = Counting(100);
  for (int round = 0; round < 2000; ++round) {
    const auto pieces = Cut<ConstBuffer>(std::span<const std::byte>(bytes), random);
    BufferReader in{std::span<const ConstBuffer>(pieces)};
    std::vector<std::byte> got;
    while (in.remaining_bytes() > 0) {
      std::vector<std::byte> part(random() % (in.remaining_bytes() + 1));
      if (random() % 4 == 0) {
        const ConstBuffer run = in.Next(part.size());
        part.assign(run.data, run.data + run.size_bytes);
      } else {
        ASSERT_TRUE(in.Read(part.data(), part.size()));
      }
      got.insert(got.end(), part.begin(), part.end());
    }
    ASSERT_EQ(got, bytes);
  }
}

TEST(BufferReaderTest, ReadingTooMuchMovesNothing) {
  const std::vector<std::byte> bytes = Counting(10);
  const std::array<ConstBuffer, 2> pieces = {ConstBuffer(bytes.data(), 4),
                                             ConstBuffer(bytes.data() + 4, 6)};
  BufferReader in{std::span<const ConstBuffer>(pieces)};
  std::array<std::byte, 11> out;
  EXPECT_FALSE(in.Read(out.data(), 11));
  EXPECT_FALSE(in.Skip(11));
  EXPECT_EQ(in.remaining_bytes(), 10u);
  EXPECT_TRUE(in.Read(out.data(), 10));
  EXPECT_EQ(std::memcmp(out.data(), bytes.data(), 10), 0);
}

TEST(BufferReaderTest, TruncateHidesTheRest) {
  const std::vector<std::byte> bytes = Counting(10);
  const std::array<ConstBuffer, 1> pieces = {ConstBuffer(bytes.data(), 10)};
  BufferReader in{std::span<const ConstBuffer>(pieces)};
  in.Truncate(20);
  EXPECT_EQ(in.remaining_bytes(), 10u);
  ASSERT_TRUE(in.Skip(2));
  in.Truncate(3);
  EXPECT_EQ(in.Next(SIZE_MAX).size_bytes, 3u);
  EXPECT_EQ(in.remaining_bytes(), 0u);
}

TEST(BufferReaderTest, CopyIsAnIndependentView) {
  const std::vector<std::byte> bytes = Counting(8);
  const std::array<ConstBuffer, 2> pieces = {ConstBuffer(bytes.data(), 3),
                                             ConstBuffer(bytes.data() + 3, 5)};
  BufferReader in{std::span<const ConstBuffer>(pieces)};
  ASSERT_TRUE(in.Skip(3));
  BufferReader payload = in;
  ASSERT_TRUE(in.Skip(5));
  EXPECT_EQ(payload.remaining_bytes(), 5u);
  EXPECT_EQ(payload.Next(1).data, bytes.data() + 3);
}

TEST(BufferWriterTest, WritesTheSameBytesWhereverTheCutsAre) {
  std::mt19937 random(2);
  const std::vector<std::byte> bytes = Counting(64);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::byte> memory(64, std::byte{0xee});
    const auto pieces = Cut<MutableBuffer>(std::span<std::byte>(memory), random);
    BufferWriter out{std::span<const MutableBuffer>(pieces)};
    const size_t first = random() % 65, zeros = random() % (65 - first);
    ASSERT_TRUE(out.Write(bytes.data(), first));
    ASSERT_TRUE(out.Zero(zeros));
    ASSERT_FALSE(out.Zero(out.remaining_bytes() + 1));
    for (size_t i = 0; i < 64; ++i) {
      const std::byte expected = i < first           ? bytes[i]
                                 : i < first + zeros ? std::byte{0}
                                                     : std::byte{0xee};
      ASSERT_EQ(memory[i], expected) << i;
    }
  }
}

}  // namespace
}  // namespace vof
