// SPDX-License-Identifier: Apache-2.0
//
// The checkers of the simulator can fail: each kind of bug, put in on purpose, is seen in every run
// in which it does harm (testing/sim/bug_effect.h), and says what it is.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "testing/sim/sim_plan.h"
#include "testing/sim/sim_world.h"

namespace vof {
namespace {

constexpr uint64_t kSeeds = 120;
// Runs in which a bug does harm: enough of them, of whatever dialect and kind of network.
constexpr int kEffects = 20;

struct Expectation {
  SimBug bug;
  const char* name;
  std::vector<std::string> messages;  // any of them
  // It does harm whenever it happens. Else see BugEffect.
  bool always_harms = true;
};

const Expectation kExpectations[] = {
    {SimBug::kLostCompletion,
     "LostCompletion",
     {"does not end", "sleeps for ever", "without a fault", "are left", "outlived"}},
    {SimBug::kDoubledCompletion, "DoubledCompletion", {"completed twice"}},
    {SimBug::kCorruptedByte, "CorruptedByte", {"holds"}, /*always_harms=*/false},
    {SimBug::kLostWrite, "LostWrite", {"holds"}, /*always_harms=*/false},
    {SimBug::kLeakedBuffer, "LeakedBuffer", {"has memory in use"}},
    {SimBug::kLostWakeUp,
     "LostWakeUp",
     {"does not end", "sleeps for ever", "without a fault", "are left", "everybody slept"},
     /*always_harms=*/false},
    // --- Of keyed transmission ---
    {SimBug::kEarlyCredit,  // none when the queue is never full
     "EarlyCredit",
     {"receives for", "no receive for a message"},
     /*always_harms=*/false},
    {SimBug::kEarlyCompletion,
     "EarlyCompletion",
     {"stores where no request lets it", "holds", "its status byte is", "its data are not zeros"},
     /*always_harms=*/false},
    {SimBug::kEarlyReuse, "EarlyReuse", {"changed a buffer that is posted"}},
    {SimBug::kLateKey,
     "LateKey",
     {"stores where no request lets it"},
     /*always_harms=*/false},
};

bool IsExpected(const std::string& failure, const Expectation& expectation) {
  for (const std::string& message : expectation.messages) {
    if (failure.find(message) != std::string::npos) return true;
  }
  return false;
}

class SimBugsTest : public testing::TestWithParam<Expectation> {};

TEST_P(SimBugsTest, IsSeenWheneverItDoesHarm) {
  int happened = 0, harmed = 0, seen = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimWorld world(MakeSimPlanWithBug(seed, GetParam().bug), /*verbose=*/false);
    const std::string failure = world.Run();
    if (!world.sabotaged()) {
      EXPECT_EQ(failure, "") << "without the bug";
      continue;
    }
    ++happened;
    EXPECT_TRUE(failure.empty() || IsExpected(failure, GetParam())) << failure;
    const bool harms = GetParam().always_harms || world.effect().took_place();
    EXPECT_TRUE(!harms || !failure.empty()) << "not seen";
    harmed += harms || !failure.empty() ? 1 : 0;  // most runs are over before much harm is done
    seen += failure.empty() ? 0 : 1;
  }
  EXPECT_GE(harmed, kEffects) << "of " << happened << " runs with the bug";
  std::printf("%d happened, %d harmed, %d seen\n", happened, harmed, seen);
}

INSTANTIATE_TEST_SUITE_P(Bugs, SimBugsTest, testing::ValuesIn(kExpectations),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace vof
