// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/transfer/piece_plan.h"

#include <gtest/gtest.h>

namespace vof {
namespace {

constexpr PieceLimits kLimits{.alignment_bytes = 512, .data_bytes = 4096, .hole_bytes = 16384};

struct Cut {
  uint64_t size_bytes;
  bool is_hole;
  bool operator==(const Cut&) const = default;
};

Cut Next(uint64_t position, uint64_t end, uint64_t extent_end, bool is_hole) {
  const uint64_t size_bytes =
      PieceSize(kLimits, {.position_bytes = position, .end_bytes = end}, extent_end, &is_hole);
  return {size_bytes, is_hole};
}

TEST(PiecePlanTest, DataIsCutAtTheLargestPiece) {
  EXPECT_EQ(Next(0, 100'000, 100'000, false), (Cut{4096, false}));
  EXPECT_EQ(Next(4096, 5000, 5000, false), (Cut{904, false}));
}

TEST(PiecePlanTest, DataGoesOnToTheNextMultipleOfTheAlignment) {
  EXPECT_EQ(Next(0, 100'000, 700, false), (Cut{1024, false}));
  EXPECT_EQ(Next(512, 100'000, 1024, false), (Cut{512, false}));
}

TEST(PiecePlanTest, HolesEndAtTheAlignmentBefore) {
  EXPECT_EQ(Next(0, 100'000, 1500, true), (Cut{1024, true}));
  EXPECT_EQ(Next(0, 100'000, 90'000, true), (Cut{16384, true}));
}

TEST(PiecePlanTest, HoleAtTheEndMayBeOdd) {
  EXPECT_EQ(Next(1024, 1500, 1500, true), (Cut{476, true}));
  EXPECT_EQ(Next(1024, 1500, 90'000, true), (Cut{476, true}));
}

TEST(PiecePlanTest, HoleShorterThanTheAlignmentIsData) {
  EXPECT_EQ(Next(0, 100'000, 511, true), (Cut{512, false}));
  EXPECT_EQ(Next(512, 600, 550, true), (Cut{88, false}));
}

TEST(PiecePlanTest, EveryWalkCoversTheRangeInAlignedSteps) {
  for (uint64_t end = 1; end < 12'000; end += 331) {
    for (uint64_t period = 100; period < 3000; period += 467) {
      uint64_t position = 0;
      while (position < end) {
        const uint64_t extent_end = (position / period + 1) * period;
        const Cut cut = Next(position, end, extent_end, (position / period) % 2 == 1);
        ASSERT_GT(cut.size_bytes, 0u);
        ASSERT_EQ(position % kLimits.alignment_bytes, 0u);
        position += cut.size_bytes;
      }
      ASSERT_EQ(position, end);
    }
  }
}

}  // namespace
}  // namespace vof
