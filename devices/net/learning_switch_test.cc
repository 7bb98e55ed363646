// SPDX-License-Identifier: Apache-2.0
#include "devices/net/learning_switch.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace vof {
namespace {

constexpr Nanoseconds kSecond = kNanosecondsPerSecond;
constexpr MonotonicTime kStart = 1000 * kSecond;

MacAddress Mac(int number) { return {{0x02, 0, 0, 0, 0, static_cast<uint8_t>(number)}}; }
const MacAddress kBroadcast = *ParseMac("ff:ff:ff:ff:ff:ff");

FrameHead Head(const MacAddress& from, const MacAddress& to, uint16_t vlan_id = 0) {
  FrameHead head;
  head.source = from;
  head.destination = to;
  head.vlan_id = vlan_id;
  head.head_bytes = kFrameHeadBytes + (vlan_id != 0 ? kVlanTagBytes : 0);
  return head;
}

using Targets = std::vector<std::pair<uint32_t, TagAction>>;

Targets TargetsOf(const LearningSwitch& rules, uint32_t from, uint16_t vlan_id) {
  Targets targets;
  rules.ForEachTarget(from, vlan_id,
                      [&](uint32_t port, TagAction tag) { targets.emplace_back(port, tag); });
  return targets;
}

class LearningSwitchTest : public testing::Test {
 protected:
  uint32_t Add(uint16_t vlan_id = 0) { return *rules_.AddPort({.vlan_id = vlan_id}); }
  Forwarding Send(uint32_t from, const MacAddress& source, const MacAddress& destination,
                  uint16_t vlan_id = 0, MonotonicTime now = kStart) {
    return rules_.Forward(from, Head(source, destination, vlan_id), now);
  }

  LearningSwitch rules_{{}};
};

TEST_F(LearningSwitchTest, FloodsUntilItKnowsAndThenSendsToOne) {
  const uint32_t a = Add(), b = Add(), c = Add();
  EXPECT_EQ(Send(a, Mac(1), Mac(2)).kind, Forwarding::kFlood);
  EXPECT_EQ(TargetsOf(rules_, a, 0), (Targets{{b, TagAction::kKeep}, {c, TagAction::kKeep}}));
  const Forwarding answer = Send(b, Mac(2), Mac(1));
  EXPECT_EQ(answer.kind, Forwarding::kOne);
  EXPECT_EQ(answer.port, a);
  EXPECT_EQ(Send(a, Mac(1), Mac(2)).port, b);
  EXPECT_EQ(Send(a, Mac(1), kBroadcast).kind, Forwarding::kFlood);
}

TEST_F(LearningSwitchTest, WhatIsBehindThePortItComesFromStaysThere) {
  const uint32_t a = Add();
  Add();
  Send(a, Mac(1), kBroadcast);
  const Forwarding to = Send(a, Mac(2), Mac(1));
  EXPECT_EQ(to.kind, Forwarding::kDrop);
  EXPECT_EQ(to.reason, SwitchDrop::kSamePort);
}

TEST_F(LearningSwitchTest, NobodySendsAsAGroup) {
  const uint32_t a = Add();
  EXPECT_EQ(Send(a, kBroadcast, Mac(1)).reason, SwitchDrop::kGroupSource);
  EXPECT_EQ(Send(a, MacAddress{}, Mac(1)).reason, SwitchDrop::kGroupSource);
  EXPECT_EQ(rules_.num_addresses(), 0u);
}

TEST_F(LearningSwitchTest, VlansDoNotSeeEachOther) {
  const uint32_t a = Add(7), b = Add(7), c = Add(8), trunk = Add();
  const Forwarding flood = Send(a, Mac(1), kBroadcast);
  EXPECT_EQ(flood.vlan_id, 7);
  EXPECT_EQ(TargetsOf(rules_, a, 7), (Targets{{b, TagAction::kKeep}, {trunk, TagAction::kAdd}}));
  // The other VLAN does not know that address, nor reach it.
  EXPECT_EQ(Send(c, Mac(3), Mac(1)).kind, Forwarding::kFlood);
  EXPECT_EQ(TargetsOf(rules_, c, 8), (Targets{{trunk, TagAction::kAdd}}));
  const Forwarding from_trunk = Send(trunk, Mac(4), Mac(1), 7);
  EXPECT_EQ(from_trunk.port, a);
  EXPECT_EQ(from_trunk.tag, TagAction::kRemove);
  EXPECT_EQ(Send(trunk, Mac(4), Mac(1), 8).kind, Forwarding::kFlood);
  EXPECT_EQ(Send(trunk, Mac(4), Mac(1)).kind, Forwarding::kFlood) << "without a tag in none";
  EXPECT_EQ(TargetsOf(rules_, trunk, 0), Targets{});
}

TEST_F(LearningSwitchTest, APortOfOneVlanCannotChooseAnother) {
  const uint32_t a = Add(7);
  Add(8);
  EXPECT_EQ(Send(a, Mac(1), Mac(2), 8).reason, SwitchDrop::kTagNotAllowed);
  EXPECT_EQ(Send(a, Mac(1), Mac(2), 7).reason, SwitchDrop::kTagNotAllowed);
}

TEST_F(LearningSwitchTest, APortThatWentIsNobodysWay) {
  const uint32_t a = Add(), b = Add();
  Send(b, Mac(2), kBroadcast);
  rules_.RemovePort(b);
  EXPECT_EQ(Send(a, Mac(1), Mac(2)).kind, Forwarding::kFlood);
  EXPECT_EQ(TargetsOf(rules_, a, 0), Targets{});
  EXPECT_EQ(Add(), b) << "its number is used again";
  EXPECT_EQ(Send(a, Mac(1), Mac(2)).kind, Forwarding::kFlood);
}

TEST(LearningSwitchLimitTest, PortsAreCounted) {
  LearningSwitch rules({.max_ports = 2});
  EXPECT_TRUE(rules.AddPort({}).has_value());
  EXPECT_TRUE(rules.AddPort({}).has_value());
  EXPECT_FALSE(rules.AddPort({}).has_value());
  rules.RemovePort(0);
  EXPECT_EQ(rules.AddPort({}), 0u);
}

TEST(LearningSwitchLimitTest, FloodsOfOnePortAreLimitedAndOthersAreNot) {
  LearningSwitch rules({.max_floods_per_second = 100});
  const uint32_t a = *rules.AddPort({}), b = *rules.AddPort({});
  const auto floods = [&](uint32_t port, MonotonicTime now, int tries) {
    int count = 0;
    for (int i = 0; i < tries; ++i) {
      const Forwarding to =
          rules.Forward(port, Head(Mac(static_cast<int>(port) + 1), kBroadcast), now);
      count += to.kind == Forwarding::kFlood ? 1 : 0;
      if (to.kind != Forwarding::kFlood) {
        EXPECT_EQ(to.reason, SwitchDrop::kFloodLimit);
      }
    }
    return count;
  };
  EXPECT_EQ(floods(a, kStart, 50), 10);
  EXPECT_EQ(floods(b, kStart, 5), 5);
  EXPECT_EQ(floods(a, kStart + kSecond / 20, 50), 5);
  EXPECT_EQ(floods(a, kStart + 100 * kSecond, 50), 10);
  // What is known goes on.
  EXPECT_EQ(rules.Forward(a, Head(Mac(1), Mac(2)), kStart + 100 * kSecond).kind, Forwarding::kOne);
}

}  // namespace
}  // namespace vof
