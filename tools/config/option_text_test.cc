// SPDX-License-Identifier: Apache-2.0
#include "tools/config/option_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vof {
namespace {

using ::testing::HasSubstr;

std::string Joined(std::string_view text) {
  const auto options = ParseOptionText(text);
  if (!options.ok()) return std::string(options.status().message());
  std::string joined;
  for (const DeviceOption& option : *options) joined += "[" + option.key + "|" + option.value + "]";
  return joined;
}

TEST(ParseOptionTextTest, SplitsKeysAndValues) {
  EXPECT_EQ(Joined("name=mem0,store=memory,size=1G"), "[name|mem0][store|memory][size|1G]");
  EXPECT_EQ(Joined("name="), "[name|]");
}

TEST(ParseOptionTextTest, ValuesMayHoldCommasAndEqualsSigns) {
  EXPECT_EQ(Joined("path=/a,,b=c.img,size=1"), "[path|/a,b=c.img][size|1]");
  EXPECT_EQ(Joined("path=,,,,"), "[path|,,]");
  EXPECT_EQ(Joined("path=a,,,size=1"), "[path|a,][size|1]");
}

TEST(ParseOptionTextTest, AKeyAloneIsTrue) {
  EXPECT_EQ(Joined("read_only,name=x"), "[read_only|true][name|x]");
}

TEST(ParseOptionTextTest, RefusesEmptyKeys) {
  for (const char* text : {"", "a=1,", ",a=1", "=1", "a=1,=2"}) {
    const auto options = ParseOptionText(text);
    ASSERT_FALSE(options.ok()) << text;
    EXPECT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(options.status().message()), HasSubstr("expected KEY=VALUE"));
  }
}

}  // namespace
}  // namespace vof
