// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/shell/interrupt.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "core/base/time.h"
#include "tools/common/same_signal.h"

namespace vof {
namespace {

constexpr int kDone = 7;

void Interrupt(int signal) { kill(getpid(), signal); }

void WaitUntil(const std::function<bool()>& reached) {
  while (!reached()) std::this_thread::yield();
}

// A signal that follows is another one then.
void LetTimePass() {
  std::this_thread::sleep_for(std::chrono::nanoseconds(kSameSignal + Milliseconds(20)));
}

TEST(InterruptTest, TheFirstSignalIsARequestToWhoWatches) {
  std::atomic<int> ends = 0;
  Interrupts interrupts([&] { ++ends; });
  const InterruptWatch watch(&interrupts);
  EXPECT_FALSE(watch.requested());
  Interrupt(SIGTERM);
  WaitUntil([&] { return watch.requested(); });
  EXPECT_EQ(ends, 0);
}

TEST(InterruptTest, TheSecondOneEndsWhicheverItIs) {
  for (const int second : {SIGINT, SIGTERM}) {
    std::atomic<int> ends = 0;
    Interrupts interrupts([&] { ++ends; });
    const InterruptWatch watch(&interrupts);
    Interrupt(SIGTERM);
    WaitUntil([&] { return watch.requested(); });
    LetTimePass();
    Interrupt(second);
    WaitUntil([&] { return ends == 1; });
  }
}

TEST(InterruptTest, TwoAtTheSameMomentAreOne) {
  std::atomic<int> ends = 0;
  Interrupts interrupts([&] { ++ends; });
  const InterruptWatch watch(&interrupts);
  // One after the other and both at once: of either kind one can be pending.
  Interrupt(SIGTERM);
  WaitUntil([&] { return watch.requested(); });
  Interrupt(SIGTERM);
  Interrupt(SIGINT);
  LetTimePass();
  EXPECT_EQ(ends, 0);
  Interrupt(SIGTERM);
  WaitUntil([&] { return ends == 1; });
}

TEST(InterruptTest, WithoutAWatchTheFirstOneEnds) {
  std::atomic<int> ends = 0;
  Interrupts interrupts([&] { ++ends; });
  { const InterruptWatch watch(&interrupts); }
  Interrupt(SIGINT);
  WaitUntil([&] { return ends == 1; });
}

TEST(InterruptTest, AnEndThatTakesLongIsCutShort) {
  const auto interrupt_twice = [] {
    std::atomic<bool> ending = false;
    Interrupts interrupts([&] { ending = true; });
    Interrupt(SIGINT);
    WaitUntil([&] { return ending.load(); });
    LetTimePass();
    Interrupt(SIGINT);
    WaitUntil([] { return false; });
  };
  EXPECT_EXIT(interrupt_twice(), testing::ExitedWithCode(1), "");
}

TEST(InterruptTest, WhatComesAfterTheWorkIsDoneChangesNothing) {
  const auto interrupt_late = [] {
    {
      Interrupts interrupts([] {});
    }
    Interrupt(SIGINT);
    Interrupt(SIGTERM);
    _exit(kDone);
  };
  EXPECT_EXIT(interrupt_late(), testing::ExitedWithCode(kDone), "");
}

}  // namespace
}  // namespace vof
