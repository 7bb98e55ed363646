// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/bench/block_stamp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace vof {
namespace {

constexpr StampKey kKey{.run = 42, .offset_bytes = 8192, .sequence = 3};

std::vector<std::byte> Stamped(const StampKey& key, size_t size_bytes = 512) {
  std::vector<std::byte> block(size_bytes);
  StampBlock(key, block);
  return block;
}

TEST(BlockStampTest, ReadsBackAtEverySize) {
  for (const size_t size_bytes : {size_t{64}, size_t{512}, size_t{4096}, size_t{131072}}) {
    EXPECT_EQ(CheckStamp(kKey, Stamped(kKey, size_bytes)), StampError::kNone) << size_bytes;
  }
}

TEST(BlockStampTest, EveryChangedByteIsFound) {
  const std::vector<std::byte> good = Stamped(kKey);
  for (size_t i = 0; i < good.size(); ++i) {
    std::vector<std::byte> bad = good;
    bad[i] ^= std::byte{0x10};
    EXPECT_NE(CheckStamp(kKey, bad), StampError::kNone) << "byte " << i;
  }
}

TEST(BlockStampTest, SwappedPiecesAreFound) {
  std::vector<std::byte> block = Stamped(kKey);
  std::swap_ranges(block.begin() + 128, block.begin() + 192, block.begin() + 256);
  EXPECT_EQ(CheckStamp(kKey, block), StampError::kChecksum);
}

TEST(BlockStampTest, HalfOfAnOlderWriteIsTorn) {
  std::vector<std::byte> block = Stamped(kKey);
  StampKey older = kKey;
  older.sequence = 2;
  const std::vector<std::byte> old = Stamped(older);
  std::copy(old.begin() + 256, old.end(), block.begin() + 256);
  EXPECT_EQ(CheckStamp(kKey, block), StampError::kChecksum);
}

TEST(BlockStampTest, TellsWhatIsWrong) {
  StampKey other = kKey;
  other.offset_bytes += 512;
  EXPECT_EQ(CheckStamp(kKey, Stamped(other)), StampError::kOffset);
  other = kKey;
  other.run = 43;
  EXPECT_EQ(CheckStamp(kKey, Stamped(other)), StampError::kRun);
  other = kKey;
  other.sequence = 2;
  EXPECT_EQ(CheckStamp(kKey, Stamped(other)), StampError::kSequence);
  EXPECT_EQ(CheckStamp(kKey, std::vector<std::byte>(512)), StampError::kNotStamped);
}

TEST(BlockStampTest, AnyRunChecksPlaceAndSoundness) {
  EXPECT_EQ(CheckStampOfAnyRun(8192, Stamped(kKey)), StampError::kNone);
  EXPECT_EQ(CheckStampOfAnyRun(0, Stamped(kKey)), StampError::kOffset);
  EXPECT_EQ(CheckStampOfAnyRun(0, std::vector<std::byte>(512)), StampError::kNotStamped);
}

TEST(BlockStampTest, OtherBlockSizesAreTold) {
  for (const size_t written_bytes : {size_t{512}, size_t{4096}}) {
    std::vector<std::byte> block = Stamped(kKey, written_bytes);
    block.resize(written_bytes == 512 ? 4096 : 512);
    EXPECT_EQ(CheckStampOfAnyRun(8192, block), StampError::kBlockBytes);
    EXPECT_EQ(StampedBytes(block), written_bytes);
    // Damage is no block size.
    EXPECT_EQ(CheckStampOfAnyRun(4096, block), StampError::kChecksum);
  }
  std::vector<std::byte> damaged = Stamped(kKey);
  damaged[28] = std::byte{0xff};
  EXPECT_EQ(CheckStampOfAnyRun(8192, damaged), StampError::kChecksum);
}

TEST(BlockStampTest, DescribesForPeople) {
  EXPECT_EQ(DescribeStamp(Stamped(kKey)), "offset 8192, block of 512 bytes, write 3, run 42");
  EXPECT_EQ(DescribeStamp(std::vector<std::byte>(64)), "no stamp");
}

}  // namespace
}  // namespace vof
