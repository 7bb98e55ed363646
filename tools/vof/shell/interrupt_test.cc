// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/shell/interrupt.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>

namespace vof {
namespace {

TEST(InterruptTest, TheFirstSignalIsARequest) {
  const InterruptWatch interrupt;
  EXPECT_FALSE(interrupt.requested());
  raise(SIGTERM);
  EXPECT_TRUE(interrupt.requested());
}

TEST(InterruptTest, TheSecondOneEndsTheProgramWhicheverItIs) {
  for (const int second : {SIGINT, SIGTERM}) {
    const auto interrupt_twice = [second] {
      const InterruptWatch interrupt;
      raise(SIGTERM);
      raise(second);
      std::exit(77);
    };
    EXPECT_EXIT(interrupt_twice(), testing::ExitedWithCode(1), "");
  }
}

}  // namespace
}  // namespace vof
