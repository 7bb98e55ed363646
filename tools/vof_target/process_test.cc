// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/process.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "tools/common/exit_code.h"
#include "tools/common/stderr_pipe_testlib.h"

namespace vof {
namespace {

// A child that writes a byte to `told` when it has got its first signal.
class StoppableChild {
 public:
  explicit StoppableChild(const std::function<void(StopSignals*, int told)>& body) {
    EXPECT_EQ(pipe(pipe_), 0);
    pid_ = fork();
    if (pid_ == 0) {
      StopSignals stop;
      Tell(pipe_[1]);
      body(&stop, pipe_[1]);
      _exit(0);
    }
    AwaitByte();
  }
  ~StoppableChild() {
    close(pipe_[0]);
    close(pipe_[1]);
  }
  static void Tell(int told) { EXPECT_EQ(write(told, "x", 1), 1); }
  void AwaitByte() const {
    char byte = 0;
    EXPECT_EQ(read(pipe_[0], &byte, 1), 1);
  }
  void Signal(int number) const { EXPECT_EQ(kill(pid_, number), 0); }
  // With which it ended by itself.
  int ExitCode() const {
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    EXPECT_TRUE(WIFEXITED(status));
    return WEXITSTATUS(status);
  }

 private:
  int pipe_[2] = {-1, -1};
  pid_t pid_ = -1;
};

constexpr Nanoseconds kLong = 600 * kNanosecondsPerSecond;

// A child that has been stopped, and waits for the signal that ends it.
void EndOnTheSecond(StopSignals* stop, int told) {
  stop->WaitFor(kLong);
  stop->ExitAtOnceOnTheNext();
  usleep(300'000);  // style: allow(sleep) what comes earlier is the first one
  StoppableChild::Tell(told);
  while (true) pause();
}

TEST(StopSignalsTest, TheFirstSignalIsReturned) {
  signal(SIGHUP, SIG_DFL);  // whatever the test was started under
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    const StoppableChild child(
        [number](StopSignals* stop, int) { _exit(stop->WaitFor(kLong) == number ? 42 : 43); });
    child.Signal(number);
    EXPECT_EQ(child.ExitCode(), 42);
  }
}

// As `nohup` starts it.
TEST(StopSignalsTest, AHangUpThatWasIgnoredStaysSo) {
  signal(SIGHUP, SIG_IGN);
  const StoppableChild child(
      [](StopSignals* stop, int) { _exit(stop->WaitFor(kLong) == SIGTERM ? 42 : 43); });
  signal(SIGHUP, SIG_DFL);
  child.Signal(SIGHUP);
  child.Signal(SIGTERM);
  EXPECT_EQ(child.ExitCode(), 42);
}

// The kernel sends one when the terminal goes, and so does the shell.
TEST(StopSignalsTest, FurtherHangUpsDoNotCutTheDrainShort) {
  signal(SIGHUP, SIG_DFL);
  const StoppableChild child([](StopSignals* stop, int) {
    stop->WaitFor(kLong);
    stop->ExitAtOnceOnTheNext();
    usleep(300'000);  // style: allow(sleep) what comes earlier is the first one in any case
    kill(getpid(), SIGHUP);
    _exit(42);
  });
  child.Signal(SIGHUP);
  EXPECT_EQ(child.ExitCode(), 42);
}

TEST(StopSignalsTest, TheSecondSignalEndsItAlthoughNobodyReadsItsLastWords) {
  const StderrPipe pipe;
  StderrPipe::Fill();
  const StoppableChild child(EndOnTheSecond);
  child.Signal(SIGTERM);
  child.AwaitByte();
  child.Signal(SIGTERM);
  EXPECT_EQ(child.ExitCode(), ToInt(ExitCode::kFailed));
}

TEST(StopSignalsTest, WaitingEndsWithoutASignal) {
  const StoppableChild child([](StopSignals* stop, int) {
    const MonotonicTime begin = MonotonicNow();
    const bool none = !stop->WaitFor(Milliseconds(1100)).has_value();
    _exit(none && MonotonicNow() - begin >= Milliseconds(1100) ? 42 : 43);
  });
  EXPECT_EQ(child.ExitCode(), 42);
}

TEST(StopSignalsTest, TheSecondSignalEndsTheProcessAtOnce) {
  const StoppableChild child(EndOnTheSecond);
  child.Signal(SIGTERM);
  child.AwaitByte();
  child.Signal(SIGINT);
  EXPECT_EQ(child.ExitCode(), ToInt(ExitCode::kFailed));
}

// As `timeout` sends them: to the process, and to its group.
TEST(StopSignalsTest, TwoSignalsAtATimeAreOne) {
  const StoppableChild child([](StopSignals* stop, int told) {
    raise(SIGTERM);
    raise(SIGINT);
    stop->WaitFor(kLong);
    stop->ExitAtOnceOnTheNext();
    StoppableChild::Tell(told);
    _exit(42);
  });
  child.AwaitByte();
  EXPECT_EQ(child.ExitCode(), 42);
}

TEST(StopSignalsTest, AfterTheDrainSignalsChangeNothing) {
  const StoppableChild child([](StopSignals* stop, int told) {
    stop->WaitFor(kLong);
    stop->ExitAtOnceOnTheNext();
    stop->IgnoreFurther();
    raise(SIGINT);
    kill(getpid(), SIGTERM);
    StoppableChild::Tell(told);
    _exit(42);
  });
  child.Signal(SIGTERM);
  child.AwaitByte();
  EXPECT_EQ(child.ExitCode(), 42);
}

TEST(RaiseDescriptorLimitTest, SoftBecomesHard) {
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlim_t hard = limit.rlim_max;
  limit.rlim_cur = std::min<rlim_t>(hard, 100);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(RaiseDescriptorLimit(), hard);
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(limit.rlim_cur, hard);
}

}  // namespace
}  // namespace vof
