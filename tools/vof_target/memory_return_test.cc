// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/memory_return.h"

#include <gtest/gtest.h>

namespace vof {
namespace {

TEST(ReturnScheduleTest, NothingHasEnded) {
  ReturnSchedule schedule;
  for (int look = 0; look < 3; ++look) EXPECT_FALSE(schedule.IsDue(0));
}

TEST(ReturnScheduleTest, TwiceAfterTheLastEnd) {
  ReturnSchedule schedule;
  EXPECT_TRUE(schedule.IsDue(1));
  EXPECT_TRUE(schedule.IsDue(500));
  EXPECT_TRUE(schedule.IsDue(500));
  EXPECT_FALSE(schedule.IsDue(500));
  EXPECT_TRUE(schedule.IsDue(501));
}

}  // namespace
}  // namespace vof
