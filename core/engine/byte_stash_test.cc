// SPDX-License-Identifier: Apache-2.0
#include "core/engine/byte_stash.h"

#include <cstddef>
#include <vector>

#include "gtest/gtest.h"

namespace vof {
namespace {

std::vector<std::byte> Some(size_t count, int first) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(first + static_cast<int>(i));
  return bytes;
}

TEST(ByteStashTest, KeepsOrderAcrossAppendAndConsume) {
  ByteStash stash;
  EXPECT_TRUE(stash.empty());
  stash.Append(Some(10, 0));
  stash.Consume(4);
  stash.Append(Some(3, 10));
  ASSERT_EQ(stash.size(), 9u);
  for (size_t i = 0; i < 9; ++i) EXPECT_EQ(stash.bytes()[i], static_cast<std::byte>(4 + i));
  stash.Consume(9);
  EXPECT_TRUE(stash.empty());
}

TEST(ByteStashTest, KeepsLittleMemoryAndGivesMuchBack) {
  ByteStash stash;
  stash.Append(Some(1000, 0));
  stash.Consume(1000);
  EXPECT_GE(stash.capacity_bytes(), 1000u) << "the next split header needs it";
  stash.Append(Some(256u << 10, 0));
  stash.Consume(256u << 10);
  EXPECT_EQ(stash.capacity_bytes(), 0u) << "an idle connection has none";
}

}  // namespace
}  // namespace vof
