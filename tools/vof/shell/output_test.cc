// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/shell/output.h"

#include <gtest/gtest.h>

#include <string>

#include "core/engine/initiator_status.h"
#include "tools/vof/transfer/reader_gone.h"

namespace vof {
namespace {

std::string StdoutOf(const OutputOptions& options, const absl::Status& status, bool with_result) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Output output("info", options);
  if (with_result) {
    EXPECT_TRUE(output.Result({{"x", Json::array()}}, "text\n").ok());
  }
  output.Finish(status);
  testing::internal::GetCapturedStderr();
  return testing::internal::GetCapturedStdout();
}

TEST(OutputTest, ErrorIsOneJsonDocument) {
  const std::string text =
      StdoutOf({.json = true}, absl::UnavailableError("nobody listens \"there\"\n"), false);
  const Json document = Json::parse(text);
  EXPECT_EQ(document["error"]["code"], 3);
  EXPECT_EQ(document["error"]["kind"], "cannot-connect");
  EXPECT_EQ(document["error"]["message"], "nobody listens \"there\"\n");
}

TEST(OutputTest, EmptyListIsBrackets) {
  EXPECT_EQ(StdoutOf({.json = true}, absl::OkStatus(), true), "{\"x\":[]}\n");
}

TEST(OutputTest, ResultAndErrorAreOneDocument) {
  EXPECT_EQ(StdoutOf({.json = true}, DataDifferError("differ"), true),
            "{\"x\":[],\"error\":{\"code\":6,\"kind\":\"data-differ\",\"message\":\"differ\"}}\n");
}

TEST(OutputTest, NotesAreOnStderrOrInTheDocument) {
  for (const bool json : {false, true}) {
    for (const bool quiet : {false, true}) {
      testing::internal::CaptureStdout();
      testing::internal::CaptureStderr();
      Output output("info", {.json = json, .quiet = quiet});
      output.Note("one");
      output.Note("two");
      EXPECT_TRUE(output.Result({{"x", 1}}, "").ok());
      output.Finish(DataDifferError("differ"));
      const std::string err = testing::internal::GetCapturedStderr();
      const std::string out = testing::internal::GetCapturedStdout();
      const std::string notes = quiet ? "" : "\"notes\":[\"one\",\"two\"],";
      EXPECT_EQ(out.rfind("{\"x\":1," + notes + "\"error\":", 0) == 0, json) << out;
      EXPECT_EQ(err.rfind("vof info: one\nvof info: two\n", 0) == 0, !json && !quiet) << err;
    }
  }
}

TEST(OutputTest, WhoEndsItInsteadTellsTheResultSoFar) {
  for (const bool json : {false, true}) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Output output("bench", {.json = json});
    output.ResultSoFar({{"x", 1}}, "one\n");
    output.ResultSoFar({{"x", 2}}, "two\n");
    EXPECT_EQ(output.FinishInstead(absl::CancelledError("interrupted")), ExitCode::kFailed);
    testing::internal::GetCapturedStderr();
    const std::string out = testing::internal::GetCapturedStdout();
    EXPECT_EQ(json ? out.substr(0, 15) : out, json ? "{\"x\":2,\"error\":" : "two\n");
  }
}

TEST(OutputTest, AResultIsToldInPlaceOfThatSoFar) {
  for (const bool json : {false, true}) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Output output("bench", {.json = json});
    output.ResultSoFar({{"x", 1}}, "one\n");
    EXPECT_TRUE(output.Result({{"x", 2}}, "two\n").ok());
    output.FinishInstead(absl::CancelledError("interrupted"));
    testing::internal::GetCapturedStderr();
    const std::string out = testing::internal::GetCapturedStdout();
    EXPECT_EQ(json ? out.substr(0, 15) : out, json ? "{\"x\":2,\"error\":" : "two\n");
  }
}

TEST(OutputTest, AReaderThatIsGoneIsNotComplainedAbout) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(Output("read", {}).Finish(ReaderGoneError("standard output")), ExitCode::kFailed);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(OutputTest, TextGoesToStdoutAndErrorsToStderr) {
  EXPECT_EQ(StdoutOf({}, absl::UnknownError("bad"), true), "text\n");
  EXPECT_EQ(StdoutOf({.quiet = true}, absl::UnknownError("bad"), true), "");
}

// What a target says of itself, and what a file is called.
constexpr char kHostile[] = "a\x1b[31m\r\xff\u202e";
constexpr char kSpelledOut[] = R"(a\x1b[31m\r\xff\u{202e})";

TEST(OutputTest, ATerminalIsToldNothingByNames) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Output output("info", {});
  EXPECT_TRUE(output.Line(kHostile).ok());
  EXPECT_TRUE(output.Result({}, std::string("x\n") + kHostile + "\n").ok());
  output.Note(kHostile);
  output.Finish(absl::UnknownError(std::string("no\n") + kHostile));
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            std::string(kSpelledOut) + "\nx\n" + kSpelledOut + "\n");
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      std::string("vof info: ") + kSpelledOut + "\nvof info: error: no\\n" + kSpelledOut + "\n");
}

TEST(OutputTest, BytesThatAreNoTextDoNotBreakJson) {
  Json json;
  json["name"] = std::string("a\xff\x00z", 4);
  EXPECT_TRUE(Json::accept(Serialize(json)));
}

TEST(OutputTest, DeviceThatFailsIsNoDifference) {
  EXPECT_EQ(ExitCodeOfStatus(DataDifferError("at 5")), ExitCode::kDataDiffer);
  EXPECT_EQ(ExitCodeOfStatus(absl::DataLossError("I/O error")), ExitCode::kFailed);
}

TEST(OutputTest, InitiatorSaysWhichExitCodeFits) {
  EXPECT_EQ(ExitCodeOfStatus(TimedOutStatus("no answer")), ExitCode::kTimeout);
  EXPECT_EQ(ExitCodeOfStatus(CannotConnectStatus("nobody")), ExitCode::kCannotConnect);
  EXPECT_EQ(ExitCodeOfStatus(UnsupportedStatus("cannot")), ExitCode::kUnsupported);
  EXPECT_EQ(ExitCodeOfStatus(ProtocolStatus("nonsense")), ExitCode::kFailed);
  Completion refused;
  refused.cause = Cause::kUnknownName;
  EXPECT_EQ(ExitCodeOfStatus(RefusedStatus(Dialect::kV5, "connect", refused)), ExitCode::kRefused);
  refused.status = 5;
  EXPECT_EQ(ExitCodeOfStatus(RefusedStatus(Dialect::kRef, "write", refused)), ExitCode::kFailed)
      << "EIO: the work failed";
  EXPECT_EQ(ExitCodeOfStatus(WithContext("tcp://x", TimedOutStatus("no answer"))),
            ExitCode::kTimeout);
}

TEST(OutputTest, EveryExitCodeHasItsKind) {
  for (int code = 0; code <= 7; ++code) {
    for (int other = 0; other < code; ++other) {
      EXPECT_NE(ExitKind(static_cast<ExitCode>(code)), ExitKind(static_cast<ExitCode>(other)));
    }
  }
}

}  // namespace
}  // namespace vof
