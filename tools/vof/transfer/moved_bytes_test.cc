// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/transfer/moved_bytes.h"

#include <gtest/gtest.h>

namespace vof {
namespace {

TEST(MovedBytesTest, ThePrefixEndsAtTheFirstGap) {
  MovedBytes moved;
  const auto add = [&](uint64_t offset_bytes, uint64_t size_bytes) {
    moved.Add({.offset_bytes = offset_bytes, .size_bytes = size_bytes});
  };
  EXPECT_EQ(moved.prefix_bytes(), 0u);
  add(100, 50);
  add(300, 10);
  EXPECT_EQ(moved.prefix_bytes(), 0u);
  EXPECT_EQ(moved.total_bytes(), 60u);
  add(0, 100);
  EXPECT_EQ(moved.prefix_bytes(), 150u);
  add(150, 1);
  EXPECT_EQ(moved.prefix_bytes(), 151u);
  add(151, 149);
  EXPECT_EQ(moved.prefix_bytes(), 310u);
  EXPECT_EQ(moved.total_bytes(), 310u);
}

}  // namespace
}  // namespace vof
