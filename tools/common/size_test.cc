// SPDX-License-Identifier: Apache-2.0
#include "tools/common/size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/ascii.h"

namespace vof {
namespace {

using ::testing::HasSubstr;

TEST(ParseSizeTest, ReadsBytesAndUnits) {
  EXPECT_EQ(*ParseSize("0"), 0u);
  EXPECT_EQ(*ParseSize("512"), 512u);
  EXPECT_EQ(*ParseSize("512B"), 512u);
  EXPECT_EQ(*ParseSize("4k"), 4096u);
  EXPECT_EQ(*ParseSize("64M"), 64u << 20);
  EXPECT_EQ(*ParseSize("64MiB"), 64u << 20);
  EXPECT_EQ(*ParseSize("3G"), 3ull << 30);
  EXPECT_EQ(*ParseSize("2T"), 2ull << 40);
  EXPECT_EQ(*ParseSize("15E"), 15ull << 60);
  EXPECT_EQ(*ParseSize("18446744073709551615"), UINT64_MAX);
}

TEST(ParseSizeTest, EveryFormOfAUnitIsTakenInAnyCase) {
  for (const std::string letter : {"K", "M", "G", "T", "P", "E"}) {
    const uint64_t expected = *ParseSize("1" + letter);
    for (const std::string& form : {letter, letter + "i", letter + "I", letter + "iB",
                                    letter + "ib", letter + "IB", letter + "Ib"}) {
      for (const std::string& text : {"1" + form, "1" + absl::AsciiStrToLower(form)}) {
        const auto size = ParseSize(text);
        ASSERT_TRUE(size.ok()) << size.status();
        EXPECT_EQ(*size, expected) << text;
      }
    }
    for (const std::string ambiguous : {"B", "b", "iBi", "bi", "ii"}) {
      EXPECT_FALSE(ParseSize("1" + letter + ambiguous).ok()) << letter << ambiguous;
    }
  }
  EXPECT_EQ(*ParseSize("512b"), 512u);
}

TEST(ParseSizeTest, RefusesWithReason) {
  const struct {
    const char* text;
    const char* reason;
  } kCases[] = {
      {"", "it is empty"},
      {"G", "does not start with a digit"},
      {"-1", "does not start with a digit"},
      {" 1", "does not start with a digit"},
      {"1 G", "the unit \" G\" is unknown"},
      {"1KB", "the unit \"KB\" is unknown"},
      {"1kb", "the unit \"kb\" is unknown"},
      {"1.5G", "the unit \".5G\" is unknown"},
      {"0x10", "the unit \"x10\" is unknown"},
      {"16E", "above 2^64-1"},
      {"18446744073709551616", "above 2^64-1"},
      {"99999999999999999999999G", "above 2^64-1"},
  };
  for (const auto& c : kCases) {
    const auto size = ParseSize(c.text);
    ASSERT_FALSE(size.ok()) << c.text;
    EXPECT_EQ(size.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(size.status().message()), HasSubstr(c.reason));
    EXPECT_THAT(std::string(size.status().message()), HasSubstr("64M"));
  }
}

TEST(FormatSizeTest, IsReadBackExactly) {
  EXPECT_EQ(FormatSize(0), "0");
  EXPECT_EQ(FormatSize(512), "512");
  EXPECT_EQ(FormatSize(64u << 20), "64M");
  EXPECT_EQ(FormatSize(1536), "1536");
  for (uint64_t size :
       {uint64_t{1}, uint64_t{4096}, uint64_t{1} << 63, UINT64_MAX, uint64_t{3} << 41}) {
    EXPECT_EQ(*ParseSize(FormatSize(size)), size);
  }
}

TEST(ExactSizeTest, AlwaysHasAUnit) {
  EXPECT_EQ(ExactSize(0), "0 bytes");
  EXPECT_EQ(ExactSize(3000), "3000 bytes");
  EXPECT_EQ(ExactSize(64u << 20), "64M");
}

TEST(HumanSizeTest, Rounds) {
  EXPECT_EQ(HumanSize(0), "0 B");
  EXPECT_EQ(HumanSize(1023), "1023 B");
  EXPECT_EQ(HumanSize(1024), "1 KiB");
  EXPECT_EQ(HumanSize(1536ull << 20), "1.5 GiB");
  EXPECT_EQ(HumanSize((1ull << 20) - 1), "1 MiB");
  EXPECT_EQ(HumanSize(UINT64_MAX), "16 EiB");
}

TEST(SizeTest, WhatHelpSaysIsWhatIsTaken) {
  const std::string form = kSizeForm;
  int units = 0;
  for (char unit = 'A'; unit <= 'Z'; ++unit) {
    if (unit == 'B') continue;  // bytes; no unit of help's list
    const bool taken = ParseSize(std::string("1") + unit).ok();
    const bool told = form.find(std::string(" ") + unit +
                                (unit == 'P' || unit == 'E' ? " " : ",")) != std::string::npos;
    EXPECT_EQ(taken, told) << unit;
    units += taken ? 1 : 0;
  }
  EXPECT_EQ(units, 6);
  EXPECT_NE(ParseSize("1X").status().message().find(kSizeForm), absl::string_view::npos);
}

}  // namespace
}  // namespace vof
