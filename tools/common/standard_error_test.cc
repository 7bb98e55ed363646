// SPDX-License-Identifier: Apache-2.0
#include "tools/common/standard_error.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <termios.h>

#include <cerrno>
#include <functional>
#include <string>
#include <thread>

#include "tools/common/stderr_pipe_testlib.h"

namespace vof {
namespace {

// Who waits for ever ends with the time limit of the test; nobody may wait even that long.
void ExpectAtOnce(const std::function<void()>& what) {
  const MonotonicTime begin = MonotonicNow();
  what();
  EXPECT_LT(MonotonicNow() - begin, 5 * kNanosecondsPerSecond);
}

// Lines until one does not fit; then what there is, and one more.
void ExpectLinesUntilFull(const StderrPipe& pipe) {
  StandardError standard_error;
  const std::string line(99, 'x');
  int written = 0;
  ExpectAtOnce([&] {
    while (written < 100'000 && standard_error.Write(line + "\n")) ++written;
  });
  EXPECT_GT(written, 0);
  EXPECT_LT(written, 100'000);
  EXPECT_EQ(standard_error.error(), EAGAIN);
  std::string text = pipe.ReadLines(written);
  // A terminal gives its room back a moment later.
  while (!standard_error.Write("more\n")) std::this_thread::yield();
  while (text.find("more") == std::string::npos) text += pipe.ReadLines(1);
}

TEST(StandardErrorTest, APipeThatNobodyReads) {
  const StderrPipe pipe;
  ExpectLinesUntilFull(pipe);
}

TEST(StandardErrorTest, ASocketThatNobodyReads) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const StderrPipe socket(ends[0], ends[1]);
  ExpectLinesUntilFull(socket);
}

class TerminalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    controller_ = posix_openpt(O_RDWR | O_NOCTTY);
    ASSERT_GE(controller_, 0);
    ASSERT_EQ(grantpt(controller_), 0);
    ASSERT_EQ(unlockpt(controller_), 0);
    terminal_ = open(ptsname(controller_), O_RDWR | O_NOCTTY);  // NOLINT(concurrency-mt-unsafe)
    ASSERT_GE(terminal_, 0);
  }
  int controller_ = -1, terminal_ = -1;
};

TEST_F(TerminalTest, ThatNobodyReads) {
  const StderrPipe terminal(controller_, terminal_);
  ExpectLinesUntilFull(terminal);
}

TEST_F(TerminalTest, ThatIsStopped) {
  const StderrPipe terminal(controller_, terminal_);
  StandardError standard_error;
  ASSERT_EQ(tcflow(STDERR_FILENO, TCOOFF), 0);
  ExpectAtOnce([&] { EXPECT_FALSE(standard_error.Write("lost\n")); });
  ASSERT_EQ(tcflow(STDERR_FILENO, TCOON), 0);
  EXPECT_TRUE(standard_error.Write("kept\n"));
  EXPECT_EQ(terminal.ReadLines(1), "kept\r\n");
}

// As root's terminal is to a target that runs as nobody.
constexpr StandardErrorOptions kCannotBeReopened = {.path = "/nonexistent"};

std::string NumberedLine(int number) { return std::to_string(number) + std::string(93, 'x'); }

TEST_F(TerminalTest, ThatCannotBeReopenedAndThatNobodyReads) {
  const StderrPipe terminal(controller_, terminal_);
  StandardError standard_error(kCannotBeReopened);
  int written = 0;
  ExpectAtOnce([&] {
    while (written < 100'000 && standard_error.Write(NumberedLine(written) + "\n")) ++written;
  });
  EXPECT_GT(written, 0);
  EXPECT_LT(written, 100'000);
  EXPECT_EQ(standard_error.error(), EAGAIN);
  // Not even a message that has patience waits longer than that.
  ExpectAtOnce(
      [&] { EXPECT_FALSE(StandardError(kCannotBeReopened).Write("lost\n", Milliseconds(50))); });
  std::string text = terminal.ReadLines(written);
  while (!standard_error.Write("more\n")) text += terminal.Read();
  while (text.find("more") == std::string::npos) text += terminal.ReadLines(1);
  std::string expected;
  for (int i = 0; i < written; ++i) expected += NumberedLine(i) + "\r\n";
  EXPECT_EQ(text.substr(0, expected.size()), expected);
  EXPECT_TRUE(standard_error.IsHandedOn(60 * kNanosecondsPerSecond));
}

TEST_F(TerminalTest, ThatCannotBeReopenedAndThatSomebodyReads) {
  const StderrPipe terminal(controller_, terminal_);
  StandardError standard_error(kCannotBeReopened);
  constexpr int kLines = 5000;
  std::string text, expected;
  std::thread reader([&] { text = terminal.ReadLines(kLines + 1); });
  for (int i = 0; i < kLines; ++i) {
    while (!standard_error.Write(NumberedLine(i) + "\n")) std::this_thread::yield();
    expected += NumberedLine(i) + "\r\n";
  }
  EXPECT_TRUE(StandardError(kCannotBeReopened).Write("the last\n", 60 * kNanosecondsPerSecond));
  reader.join();
  EXPECT_EQ(text, expected + "the last\r\n");
}

// What has patience is there when the process ends a moment later.
TEST_F(TerminalTest, ThatCannotBeReopenedGetsTheLastMessage) {
  const StderrPipe terminal(controller_, terminal_);
  EXPECT_TRUE(StandardError(kCannotBeReopened).Write("last\n", 60 * kNanosecondsPerSecond));
  EXPECT_EQ(terminal.ReadLines(1), "last\r\n");
}

// In a signal handler.
TEST_F(TerminalTest, ThatCannotBeReopenedWithoutAThread) {
  const StderrPipe terminal(controller_, terminal_);
  StandardError standard_error({.may_start_thread = false, .path = "/nonexistent"});
  int written = 0;
  ExpectAtOnce([&] {
    while (written < 100'000 && standard_error.Write(NumberedLine(written) + "\n")) ++written;
  });
  EXPECT_GT(written, 0);
  EXPECT_LT(written, 100'000);
  EXPECT_EQ(terminal.ReadLines(1).substr(0, 5), "0xxxx");
}

TEST_F(TerminalTest, ThatCannotBeReopenedAndThatWentAway) {
  StderrPipe terminal(controller_, terminal_);
  StandardError standard_error(kCannotBeReopened);
  terminal.CloseReader();
  EXPECT_TRUE(standard_error.Write("lost\n"));
  EXPECT_TRUE(standard_error.IsHandedOn(60 * kNanosecondsPerSecond));
  EXPECT_FALSE(standard_error.Write("and so is this\n"));
  EXPECT_EQ(standard_error.error(), EIO);
}

TEST(StandardErrorTest, ALineThatWasBegunIsNotContinuedByAnother) {
  const StderrPipe pipe;
  StandardError standard_error;
  ExpectAtOnce([&] { EXPECT_FALSE(standard_error.Write(std::string(1 << 20, 'x') + "\n")); });
  pipe.Read();
  EXPECT_TRUE(standard_error.Write("next\n"));
  EXPECT_EQ(pipe.Read(), "\nnext\n");
}

TEST(StandardErrorTest, WaitsForAReaderThatReads) {
  const StderrPipe pipe;
  StderrPipe::Fill();
  std::string text;
  std::thread reader([&] { text = pipe.ReadLines(1); });
  const std::string errors(1 << 20, 'x');
  EXPECT_TRUE(StandardError().Write(errors + "\n", 60 * kNanosecondsPerSecond));
  reader.join();
  EXPECT_EQ(text.substr(text.find('x')), errors + "\n");
}

TEST(StandardErrorTest, WaitsNoLongerThanToldTo) {
  const StderrPipe pipe;
  StderrPipe::Fill();
  ExpectAtOnce([&] { EXPECT_FALSE(StandardError().Write("lost\n", Milliseconds(50))); });
}

TEST(StandardErrorTest, AReaderThatWentAwayIsAnError) {
  signal(SIGPIPE, SIG_IGN);
  StderrPipe pipe;
  StandardError standard_error;
  pipe.CloseReader();
  EXPECT_FALSE(standard_error.Write("lost\n"));
  EXPECT_EQ(standard_error.error(), EPIPE);
}

// As a shell that shares it expects.
TEST(StandardErrorTest, TheDescriptorKeepsItsFlags) {
  const StderrPipe pipe;
  const StandardError standard_error;
  EXPECT_EQ(fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK, 0);
}

}  // namespace
}  // namespace vof
