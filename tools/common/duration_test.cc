// SPDX-License-Identifier: Apache-2.0
#include "tools/common/duration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vof {
namespace {

using ::testing::HasSubstr;

TEST(ParseDurationTest, ReadsUnits) {
  EXPECT_EQ(*ParseDuration("0"), 0);
  EXPECT_EQ(*ParseDuration("10"), 10 * kNanosecondsPerSecond);
  EXPECT_EQ(*ParseDuration("10s"), 10 * kNanosecondsPerSecond);
  EXPECT_EQ(*ParseDuration("500ms"), 500 * kNanosecondsPerMillisecond);
  EXPECT_EQ(*ParseDuration("20us"), 20'000);
  EXPECT_EQ(*ParseDuration("7ns"), 7);
  EXPECT_EQ(*ParseDuration("2m"), 120 * kNanosecondsPerSecond);
  EXPECT_EQ(*ParseDuration("1h"), 3600 * kNanosecondsPerSecond);
}

TEST(ParseDurationTest, RefusesWithReason) {
  const struct {
    const char* text;
    const char* reason;
  } kCases[] = {
      {"", "it is empty"},
      {"s", "does not start with a digit"},
      {"-5s", "does not start with a digit"},
      {"5 s", "the unit \" s\" is unknown"},
      {"5sec", "the unit \"sec\" is unknown"},
      {"1.5s", "the unit \".5s\" is unknown"},
      {"9223372037s", "longer than 292 years"},
      {"99999999999999999999ns", "longer than 292 years"},
  };
  for (const auto& c : kCases) {
    const auto duration = ParseDuration(c.text);
    ASSERT_FALSE(duration.ok()) << c.text;
    EXPECT_EQ(duration.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(duration.status().message()), HasSubstr(c.reason));
    EXPECT_THAT(std::string(duration.status().message()), HasSubstr("500ms"));
  }
}

TEST(FormatDurationTest, IsReadBackExactly) {
  EXPECT_EQ(FormatDuration(0), "0s");
  EXPECT_EQ(FormatDuration(90 * kNanosecondsPerSecond), "90s");
  EXPECT_EQ(FormatDuration(1'500'000), "1500us");
  for (Nanoseconds duration :
       {Nanoseconds{1}, Nanoseconds{999}, Milliseconds(10), kInfiniteFuture}) {
    EXPECT_EQ(*ParseDuration(FormatDuration(duration)), duration);
  }
}

TEST(HumanDurationTest, Rounds) {
  EXPECT_EQ(HumanDuration(87), "87 ns");
  EXPECT_EQ(HumanDuration(1'234'567), "1.23 ms");
  EXPECT_EQ(HumanDuration(12'340), "12.3 us");
  EXPECT_EQ(HumanDuration(999 * kNanosecondsPerMillisecond), "999 ms");
  EXPECT_EQ(HumanDuration(90 * kNanosecondsPerSecond), "90.0 s");
}

}  // namespace
}  // namespace vof
