// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/transfer/zero_runs.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace vof {
namespace {

TEST(ZeroRunsTest, IsZeroLooksAtEveryByte) {
  std::vector<std::byte> data(65);
  EXPECT_TRUE(IsZero(data));
  for (std::byte& byte : data) {
    byte = std::byte{1};
    EXPECT_FALSE(IsZero(data));
    byte = std::byte{0};
  }
  EXPECT_TRUE(IsZero({}));
}

TEST(ZeroRunsTest, RunsAreMergedAndEndWhereTheKindChanges) {
  std::vector<std::byte> data(40);  // units of 8: zero, zero, data, data, zero
  data[17] = data[31] = std::byte{9};
  std::span<const std::byte> left(data);
  DataRun run = FirstRun(left, 8);
  EXPECT_EQ(run.size_bytes, 16u);
  EXPECT_TRUE(run.is_zero);
  run = FirstRun(left = left.subspan(16), 8);
  EXPECT_EQ(run.size_bytes, 16u);
  EXPECT_FALSE(run.is_zero);
  run = FirstRun(left = left.subspan(16), 8);
  EXPECT_EQ(run.size_bytes, 8u);
  EXPECT_TRUE(run.is_zero);
}

TEST(ZeroRunsTest, LastUnitMayBeShort) {
  std::vector<std::byte> data(11);
  EXPECT_EQ(FirstRun(data, 8).size_bytes, 11u);
  data[10] = std::byte{1};
  EXPECT_EQ(FirstRun(data, 8).size_bytes, 8u);
}

}  // namespace
}  // namespace vof
