// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/reactor_watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace vof {
namespace {

constexpr Nanoseconds kSecond = kNanosecondsPerSecond;

std::optional<ReactorEvent> Judged(ReactorJudge* judge, uint64_t unanswered) {
  return judge->Judge({unanswered == 0 ? "" : "target-0", unanswered});
}

TEST(ReactorJudgeTest, LooksOftenEnoughForItsTimeout) {
  EXPECT_EQ(ReactorJudge(60 * kSecond).interval(), 5 * kSecond);
  EXPECT_EQ(ReactorJudge(3600 * kSecond).interval(), 5 * kSecond);
  EXPECT_EQ(ReactorJudge(6 * kSecond).interval(), kSecond / 2);
  EXPECT_EQ(ReactorJudge(0).interval(), 5 * kSecond);
}

TEST(ReactorJudgeTest, EndsAfterTheTimeoutAndNotBefore) {
  ReactorJudge judge(60 * kSecond);
  for (uint64_t i = 0; i < 12; ++i) {
    EXPECT_NE(Judged(&judge, i), ReactorEvent::kHangsOut) << i;
  }
  EXPECT_EQ(Judged(&judge, 12), ReactorEvent::kHangsOut);
}

TEST(ReactorJudgeTest, TimesAreWholeAndNoLongerThanTheTimeout) {
  const ReactorJudge judge(kSecond);
  EXPECT_EQ(judge.TimeOf({"target-0", 2}), Milliseconds(168));
  EXPECT_EQ(judge.TimeOf({"target-0", 12}), kSecond);
}

TEST(ReactorJudgeTest, TellsOnceThatOneHangsAndOnceThatItGoesOn) {
  ReactorJudge judge(60 * kSecond);
  EXPECT_EQ(Judged(&judge, 0), std::nullopt);
  EXPECT_EQ(Judged(&judge, 1), std::nullopt) << "slow, once";
  EXPECT_EQ(Judged(&judge, 0), std::nullopt) << "nothing was told";
  EXPECT_EQ(Judged(&judge, 2), ReactorEvent::kHangs);
  EXPECT_EQ(Judged(&judge, 3), std::nullopt);
  EXPECT_EQ(Judged(&judge, 1), std::nullopt) << "another one may be slow now";
  EXPECT_EQ(Judged(&judge, 0), ReactorEvent::kGoesOn);
  EXPECT_EQ(Judged(&judge, 0), std::nullopt);
}

TEST(ReactorJudgeTest, WithoutATimeoutItOnlyTells) {
  ReactorJudge judge(0);
  EXPECT_EQ(Judged(&judge, 2), ReactorEvent::kHangs);
  EXPECT_EQ(Judged(&judge, 1u << 30), std::nullopt);
}

TEST(ReactorWatchTest, TellsWhichOneHangsAndForHowLong) {
  std::atomic<uint64_t> unanswered = 0;
  std::promise<ReactorWatch::Event> told;
  std::atomic<bool> is_told = false;
  const ReactorWatch watch({.timeout = Milliseconds(12),
                            .ask =
                                [&] {
                                  return ReactorPulse::Answer{"target-3", ++unanswered};
                                },
                            .on_event =
                                [&](const ReactorWatch::Event& event) {
                                  if (event.kind != ReactorEvent::kHangsOut) return;
                                  if (!is_told.exchange(true)) told.set_value(event);
                                }});
  const ReactorWatch::Event event = told.get_future().get();
  EXPECT_EQ(event.reactor, "target-3");
  EXPECT_EQ(event.time, Milliseconds(12));
}

TEST(ReactorWatchTest, EndsAtOnce) {
  const MonotonicTime start = MonotonicNow();
  {
    const ReactorWatch watch({.timeout = 0,
                              .ask = [] { return ReactorPulse::Answer{}; },
                              .on_event = [](const ReactorWatch::Event&) {}});
  }
  // Without being woken it would look again after five seconds.
  EXPECT_LT(MonotonicNow() - start, 4 * kSecond);
}

}  // namespace
}  // namespace vof
