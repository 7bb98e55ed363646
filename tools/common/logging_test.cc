// SPDX-License-Identifier: Apache-2.0
#include "tools/common/logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

namespace vof {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

TEST(LoggingTest, WritesToStderrAboveTheLevel) {
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  ASSERT_TRUE(SetUpLogging({.level = "warn", .program = "demo"}).ok());
  spdlog::info("quiet");
  spdlog::warn("loud {}", 7);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, MatchesRegex("20[-0-9T:.+]+ demo warning loud 7\n"));
  EXPECT_THAT(log, Not(HasSubstr("quiet")));
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
}

TEST(LoggingTest, EveryListedLevelIsKnown) {
  std::string list(KnownLogLevels());
  for (size_t at = 0; at < list.size();) {
    const size_t comma = std::min(list.find(", ", at), list.size());
    EXPECT_TRUE(CheckLogLevel(list.substr(at, comma - at)).ok()) << list.substr(at, comma - at);
    at = comma + 2;
  }
}

TEST(LoggingTest, UnknownLevelListsTheKnownOnes) {
  const absl::Status status = SetUpLogging({.level = "loud", .program = ""});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()),
            "unknown log level \"loud\"; known: trace, debug, info, warn, error, off");
}

TEST(PrintErrorTest, NamesTheProgram) {
  ::testing::internal::CaptureStderr();
  PrintError("vof-target", "port in use");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "vof-target: error: port in use\n");
}

TEST(PrintErrorTest, StaysALineWithoutEscapeSequences) {
  ::testing::internal::CaptureStderr();
  PrintError("p", "\"1M\033[31m\" is\nno \"size\"");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "p: error: \"1M\\x1b[31m\" is\\nno \"size\"\n");
}

}  // namespace
}  // namespace vof
