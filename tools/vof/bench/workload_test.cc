// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/bench/workload.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace vof {
namespace {

TEST(WorkloadTest, SequentialWalksInOrderAndWraps) {
  Workload workload({.num_blocks = 3});
  for (const uint64_t expected : {0u, 1u, 2u, 0u, 1u}) {
    const Operation next = workload.Next();
    EXPECT_EQ(next.block, expected);
    EXPECT_FALSE(next.is_write);
  }
}

TEST(WorkloadTest, RandomStaysInsideAndReachesEveryBlock) {
  Workload workload({.random = true, .num_blocks = 16, .seed = 3});
  std::vector<int> hits(16);
  for (int i = 0; i < 16'000; ++i) ++hits.at(workload.Next().block);
  for (const int count : hits) {
    EXPECT_GT(count, 800);
    EXPECT_LT(count, 1200);
  }
}

TEST(WorkloadTest, MixFollowsThePercentage) {
  Workload workload({.random = true, .read_percent = 70, .num_blocks = 8, .seed = 5});
  int writes = 0;
  for (int i = 0; i < 10'000; ++i) writes += workload.Next().is_write ? 1 : 0;
  EXPECT_NEAR(writes, 3000, 200);
}

TEST(WorkloadTest, ExtremesOfTheMixAreExact) {
  Workload reads({.random = true, .read_percent = 100, .num_blocks = 8});
  Workload writes({.random = true, .read_percent = 0, .num_blocks = 8});
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(reads.Next().is_write);
    EXPECT_TRUE(writes.Next().is_write);
  }
}

TEST(WorkloadTest, SeedDecidesTheOrder) {
  const auto blocks = [](uint64_t seed) {
    Workload workload({.random = true, .num_blocks = 1u << 20, .seed = seed});
    std::vector<uint64_t> result;
    for (int i = 0; i < 20; ++i) result.push_back(workload.Next().block);
    return result;
  };
  EXPECT_EQ(blocks(9), blocks(9));
  EXPECT_NE(blocks(9), blocks(10));
}

}  // namespace
}  // namespace vof
