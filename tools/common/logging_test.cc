// SPDX-License-Identifier: Apache-2.0
#include "tools/common/logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tools/common/stderr_pipe_testlib.h"

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

TEST(LoggingTest, NeverWaitsForAReaderAndCountsWhatWasLost) {
  const StderrPipe pipe;
  ASSERT_TRUE(SetUpLogging({.level = "info", .program = "demo"}).ok());
  StderrPipe::Fill();
  for (int i = 0; i < 7; ++i) spdlog::error("lost {}", i);
  pipe.Read();
  spdlog::info("seen");
  EXPECT_THAT(pipe.Read(),
              MatchesRegex("20[-0-9T:.+]+ demo warning 7 lines were lost: nobody read standard "
                           "error\n20[-0-9T:.+]+ demo info seen\n"));
  spdlog::info("again");
  EXPECT_THAT(pipe.Read(), Not(HasSubstr("lost")));
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

TEST(PrintErrorTest, DoesNotHangWhenNobodyReads) {
  const StderrPipe pipe;
  StderrPipe::Fill();
  PrintErrors("p", std::vector<std::string>(50, "port in use"));
  EXPECT_THAT(pipe.Read(), Not(HasSubstr("port in use")));
}

std::string Printed(const std::vector<std::string>& messages) {
  ::testing::internal::CaptureStderr();
  PrintErrors("p", messages);
  return ::testing::internal::GetCapturedStderr();
}

TEST(PrintErrorTest, AHundredAreEnough) {
  const std::string some = Printed(std::vector<std::string>(100, "bad"));
  EXPECT_EQ(std::count(some.begin(), some.end(), '\n'), 100);
  EXPECT_THAT(some, Not(HasSubstr("more")));
  const std::string many = Printed(std::vector<std::string>(5000, "bad"));
  EXPECT_EQ(many, some + "p: error: and 4900 more\n");
}

TEST(PrintErrorTest, OfALongOneTheBeginningAndTheEnd) {
  const std::string whole(1000, 'x');
  EXPECT_EQ(Printed({whole}), "p: error: " + whole + "\n");
  EXPECT_EQ(Printed({"f.conf:1:1: " + std::string(500'000, '7') + " is too large"}),
            "p: error: f.conf:1:1: " + std::string(750 - 12, '7') + "..." +
                std::string(250 - 13, '7') + " is too large (500025 bytes)\n");
}

TEST(PrintErrorTest, IsCutBetweenCharacters) {
  for (size_t shift = 0; shift < 4; ++shift) {
    std::string text(shift, 'x');
    for (int i = 0; i < 1000; ++i) text += "\U0001f600";
    const std::string printed = Printed({text});
    EXPECT_LT(printed.size(), 1050u);
    std::string bare = printed;
    for (size_t at; (at = bare.find("\U0001f600")) != std::string::npos;) bare.erase(at, 4);
    EXPECT_EQ(bare, "p: error: " + std::string(shift, 'x') + "... (" + std::to_string(text.size()) +
                        " bytes)\n");
  }
}

TEST(PrintErrorTest, StaysALineWithoutEscapeSequences) {
  ::testing::internal::CaptureStderr();
  PrintError("p", "\"1M\033[31m\" is\nno \"size\"");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "p: error: \"1M\\x1b[31m\" is\\nno \"size\"\n");
}

}  // namespace
}  // namespace vof
