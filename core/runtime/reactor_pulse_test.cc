// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/reactor_pulse.h"

#include <gtest/gtest.h>

#include <future>

#include "core/runtime/reactor_thread.h"

namespace vof {
namespace {

class ReactorPulseTest : public testing::Test {
 protected:
  ReactorPulseTest() {
    pulse_.Add(quick_->reactor());
    pulse_.Add(slow_->reactor());
  }
  ~ReactorPulseTest() override { pulse_.Close(); }
  // Work posted before has been done by then.
  static void Settle(ReactorThread* thread) {
    thread->RunAndWait([] {});
  }

  std::unique_ptr<ReactorThread> quick_ = *ReactorThread::Start({.name = "quick"});
  std::unique_ptr<ReactorThread> slow_ = *ReactorThread::Start({.name = "slow"});
  ReactorPulse pulse_;
};

TEST_F(ReactorPulseTest, ReactorsThatTurnAnswer) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(pulse_.Ask().unanswered, 0u);
    Settle(quick_.get());
    Settle(slow_.get());
  }
}

TEST_F(ReactorPulseTest, NamesTheOneThatHangsUntilItTurnsAgain) {
  std::promise<void> release;
  slow_->reactor()->Post([done = release.get_future().share()] { done.wait(); });
  EXPECT_EQ(pulse_.Ask().unanswered, 0u) << "it has had no time to answer";
  for (uint64_t i = 1; i < 5; ++i) {
    Settle(quick_.get());
    const ReactorPulse::Answer slowest = pulse_.Ask();
    EXPECT_EQ(slowest.unanswered, i);
    EXPECT_EQ(slowest.reactor, "slow");
  }
  release.set_value();
  Settle(slow_.get());
  Settle(quick_.get());
  EXPECT_EQ(pulse_.Ask().unanswered, 0u);
}

TEST_F(ReactorPulseTest, WhoIsExcusedOwesNothingUntilItIsBack) {
  std::promise<void> release, is_excused;
  slow_->reactor()->Post([this, &is_excused, done = release.get_future().share()] {
    const ReactorPulse::Excuse excuse(pulse_, slow_->reactor());
    is_excused.set_value();
    done.wait();
  });
  is_excused.get_future().wait();
  for (int i = 0; i < 5; ++i) {
    Settle(quick_.get());
    EXPECT_EQ(pulse_.Ask().unanswered, 0u);
  }
  std::promise<void> release_again;
  slow_->reactor()->Post([done = release_again.get_future().share()] { done.wait(); });
  release.set_value();
  for (uint64_t asked = 0; pulse_.Ask().unanswered < 2; ++asked) {
    ASSERT_LT(asked, 10'000'000u);
    Settle(quick_.get());
  }
  release_again.set_value();
}

TEST_F(ReactorPulseTest, ReactorsThatEndedOweNothing) {
  pulse_.Ask();
  pulse_.Close();
  slow_.reset();
  EXPECT_EQ(pulse_.Ask().unanswered, 0u);
  EXPECT_EQ(pulse_.Ask().reactor, "");
}

}  // namespace
}  // namespace vof
