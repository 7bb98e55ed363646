// SPDX-License-Identifier: Apache-2.0
#include "tools/common/rate_limit.h"

#include "gtest/gtest.h"

namespace vof {
namespace {

TEST(RateLimitTest, ABurstThenNothingUntilTheIntervalEnds) {
  RateLimit limit({.burst = 3, .interval = 100});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limit.Admit(1000 + i), 0u);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(limit.Admit(1010 + i), std::nullopt);
  EXPECT_EQ(limit.Admit(1099), std::nullopt);
  EXPECT_EQ(limit.Admit(1100), 51u) << "and it says how many were left out";
  EXPECT_EQ(limit.Admit(1101), 0u);
}

TEST(RateLimitTest, WhatIsRareIsNeverDropped) {
  RateLimit limit({.burst = 1, .interval = 100});
  for (MonotonicTime now = 0; now < 10000; now += 100) EXPECT_EQ(limit.Admit(now), 0u);
}

}  // namespace
}  // namespace vof
