// SPDX-License-Identifier: Apache-2.0
#include "tools/config/cpu_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

namespace vof {
namespace {

using ::testing::HasSubstr;
using Cpus = std::vector<uint32_t>;

TEST(ParseCpuListTest, ReadsNumbersAndRangesInOrder) {
  EXPECT_EQ(*ParseCpuList("0"), (Cpus{0}));
  EXPECT_EQ(*ParseCpuList("6,0-3"), (Cpus{6, 0, 1, 2, 3}));
  EXPECT_EQ(*ParseCpuList("4095"), (Cpus{4095}));
}

TEST(ParseCpuListTest, RefusesWithReason) {
  const struct {
    const char* text;
    const char* reason;
  } kCases[] = {{"", "\"\" is not a CPU"},
                {"a", "\"a\" is not a CPU"},
                {"1,,2", "\"\" is not a CPU"},
                {"-1", "\"-1\" is not a CPU"},
                {"4096", "is not a CPU (0 to"},
                {"0-", "is not a range"},
                {"0-5000", "is not a range"},
                {"3-1", "runs backwards"},
                {"0-2,1", "CPU 1 is named twice"},
                {"0- 1", "is not a range"},
                {"1 ", "is not a CPU"},
                {"99999999999", "is not a CPU"},
                {"0-1-2", "is not a range"},
                {"+1", "is not a CPU"}};
  for (const auto& c : kCases) {
    const auto cpus = ParseCpuList(c.text);
    ASSERT_FALSE(cpus.ok()) << c.text;
    EXPECT_EQ(cpus.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(cpus.status().message()), HasSubstr(c.reason)) << c.text;
  }
}

TEST(FormatCpuListTest, IsReadBackExactly) {
  EXPECT_EQ(FormatCpuList({}), "");
  EXPECT_EQ(FormatCpuList({0, 1, 2, 6}), "0-2,6");
  EXPECT_EQ(FormatCpuList({3, 2}), "3,2");
  for (const Cpus& cpus : {Cpus{5}, Cpus{7, 8, 9, 0}, Cpus{2, 4, 6}}) {
    EXPECT_EQ(*ParseCpuList(FormatCpuList(cpus)), cpus);
  }
}

TEST(UsableCpusTest, IsAtLeastOne) { EXPECT_GE(UsableCpus(), 1u); }

TEST(CheckUsableTest, OnlyTheMaskOfTheProcessCounts) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  uint32_t first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(first, &only);
  ASSERT_EQ(sched_setaffinity(0, sizeof(only), &only), 0);
  EXPECT_EQ(UsableCpus(), 1u);
  EXPECT_TRUE(CheckUsable({}).ok());
  EXPECT_TRUE(CheckUsable({first}).ok());
  const absl::Status other = CheckUsable({first, first + 1});
  EXPECT_EQ(other.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(other.message().find("CPU " + std::to_string(first + 1) + " does not exist"),
            absl::string_view::npos)
      << other;
  EXPECT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
  EXPECT_FALSE(CheckUsable({kMaxCpu}).ok());
}

}  // namespace
}  // namespace vof
