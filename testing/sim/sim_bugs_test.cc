// SPDX-License-Identifier: Apache-2.0
//
// The checkers of the simulator can fail: each kind of bug, put in on purpose, is seen, and says
// what it is.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "testing/sim/sim_plan.h"
#include "testing/sim/sim_world.h"

namespace vof {
namespace {

constexpr uint64_t kSeeds = 60;
constexpr int kLeastSabotages = 10;

struct Expectation {
  SimBug bug;
  const char* name;
  std::vector<std::string> messages;  // any of them
  // Of the runs in which it happened, the same in every run. A lost write may be overwritten before
  // anybody reads it; a connection that is lost while the calm begins may be made again.
  int least_percent = 100;
};

const Expectation kExpectations[] = {
    {SimBug::kLostCompletion,
     "LostCompletion",
     {"does not end", "sleeps for ever", "without a fault", "are left", "outlived"}},
    {SimBug::kDoubledCompletion, "DoubledCompletion", {"completed twice"}},
    {SimBug::kCorruptedByte, "CorruptedByte", {"holds"}, 90},
    {SimBug::kLostWrite, "LostWrite", {"holds"}, 30},
    {SimBug::kLeakedBuffer, "LeakedBuffer", {"has memory in use"}},
    {SimBug::kLostWakeUp,
     "LostWakeUp",
     {"does not end", "sleeps for ever", "without a fault", "are left", "outlived"},
     10},
};

bool IsExpected(const std::string& failure, const Expectation& expectation) {
  for (const std::string& message : expectation.messages) {
    if (failure.find(message) != std::string::npos) return true;
  }
  return false;
}

class SimBugsTest : public testing::TestWithParam<Expectation> {};

TEST_P(SimBugsTest, IsSeen) {
  int happened = 0, seen = 0;
  std::string missed;
  for (uint64_t seed = 0; seed < kSeeds && happened < 2 * kLeastSabotages; ++seed) {
    SimPlan plan = MakeSimPlan(seed);
    plan.bug = GetParam().bug;
    plan.memory_store = false;
    plan.store_failures_per_mille = 0;
    SimWorld world(plan, /*verbose=*/false);
    const std::string failure = world.Run();
    if (!world.sabotaged()) {
      EXPECT_EQ(failure, "") << "seed " << seed << " without the bug";
      continue;
    }
    ++happened;
    EXPECT_TRUE(failure.empty() || IsExpected(failure, GetParam())) << seed << ": " << failure;
    if (failure.empty()) missed += " " + std::to_string(seed);
    seen += failure.empty() ? 0 : 1;
  }
  EXPECT_GE(happened, kLeastSabotages);
  EXPECT_GE(seen * 100, happened * GetParam().least_percent) << "not seen in seeds" << missed;
}

INSTANTIATE_TEST_SUITE_P(Bugs, SimBugsTest, testing::ValuesIn(kExpectations),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace vof
