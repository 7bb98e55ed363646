// SPDX-License-Identifier: Apache-2.0
#include "core/engine/credit_window.h"

#include <random>

#include "gtest/gtest.h"

namespace vof {
namespace {

TEST(CreditWindowTest, AFullWindowIsTheQueueSize) {
  TargetCredits target(3);
  EXPECT_TRUE(target.OnCommand());
  EXPECT_TRUE(target.OnCommand());
  EXPECT_TRUE(target.OnCommand());
  EXPECT_FALSE(target.available());
  EXPECT_FALSE(target.OnCommand());
  EXPECT_EQ(target.OnCompletion(false), 1);
  EXPECT_TRUE(target.OnCommand());
}

TEST(CreditWindowTest, ShrinksToOneWhileMemoryIsShortAndReopens) {
  TargetCredits target(4);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(target.OnCommand());
  EXPECT_EQ(target.OnCompletion(true), 0);
  EXPECT_EQ(target.OnCompletion(true), 0);
  EXPECT_EQ(target.OnCompletion(true), 0);
  EXPECT_EQ(target.OnCompletion(true), 1) << "the last credit is never kept";
  EXPECT_EQ(target.window(), 1u);
  ASSERT_TRUE(target.OnCommand());
  EXPECT_GT(target.OnCompletion(false), 1);
}

TEST(CreditWindowTest, OneIdleGrantUntilTheNextCommand) {
  TargetCredits target(4);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(target.OnCommand());
  for (int i = 0; i < 4; ++i) target.OnCompletion(true);
  EXPECT_EQ(target.IdleGrant(true), 0);
  EXPECT_EQ(target.IdleGrant(false), 3);
  EXPECT_EQ(target.IdleGrant(false), 0);
  EXPECT_EQ(target.window(), 4u);
}

TEST(CreditWindowTest, InitiatorRefusesImpossibleGrants) {
  InitiatorCredits initiator(2);
  initiator.OnSend();
  EXPECT_TRUE(initiator.OnCompletion(1));
  EXPECT_FALSE(initiator.OnEvent(1)) << "more than the queue size";
  InitiatorCredits other(1);
  other.OnSend();
  EXPECT_FALSE(other.OnCompletion(0)) << "a window of nothing would never end";
  InitiatorCredits third(2);
  EXPECT_FALSE(third.OnEvent(0));
}

// Both ends agree on the window, whatever happens to memory.
TEST(CreditWindowTest, RandomTraffic) {
  std::mt19937 random(3);
  TargetCredits target(8);
  InitiatorCredits initiator(8);
  for (int step = 0; step < 100000; ++step) {
    const bool is_short = random() % 2 == 0;
    if (random() % 2 == 0 && initiator.available() > 0) {
      initiator.OnSend();
      ASSERT_TRUE(target.OnCommand());
    } else if (initiator.in_flight() > 0) {
      ASSERT_TRUE(initiator.OnCompletion(target.OnCompletion(is_short)));
    } else if (const uint16_t grant = target.IdleGrant(is_short); grant > 0) {
      ASSERT_TRUE(initiator.OnEvent(grant));
    }
    ASSERT_GE(target.window(), 1u);
    ASSERT_LE(target.window(), 8u);
    ASSERT_EQ(target.window(), initiator.available() + initiator.in_flight());
  }
}

}  // namespace
}  // namespace vof
