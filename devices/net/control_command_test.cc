// SPDX-License-Identifier: Apache-2.0
#include "devices/net/control_command.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "core/base/little_endian.h"
#include "devices/net/testing/cut.h"

namespace vof {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint64_t kEverything = ~uint64_t{0};
constexpr ControlLimits kLimits = {.features = kEverything, .max_pairs = 4};

ControlRule Parse(const Bytes& bytes, ControlCommand* command,
                  const ControlLimits& limits = kLimits, size_t piece_bytes = 3,
                  uint32_t writable_bytes = 1) {
  const std::vector<ConstBuffer> pieces = CutInto(std::as_bytes(std::span(bytes)), piece_bytes);
  return ParseControl(pieces, writable_bytes, limits, command);
}

ControlRule RuleOf(const Bytes& bytes, const ControlLimits& limits = kLimits) {
  ControlCommand command;
  return Parse(bytes, &command, limits);
}

Bytes Command(uint8_t control_class, uint8_t command, const Bytes& data) {
  Bytes bytes = {control_class, command};
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

// `count` addresses, the last byte of each its number.
Bytes Table(uint32_t count, uint32_t told) {
  Bytes table(4);
  const Le32 head = told;
  std::memcpy(table.data(), &head, sizeof(head));
  for (uint32_t i = 0; i < count; ++i) {
    const Bytes mac = {2, 0, 0, 0, static_cast<uint8_t>(i >> 8), static_cast<uint8_t>(i)};
    table.insert(table.end(), mac.begin(), mac.end());
  }
  return table;
}

Bytes Tables(const Bytes& unicast, const Bytes& multicast) {
  Bytes both = unicast;
  both.insert(both.end(), multicast.begin(), multicast.end());
  return Command(kNetControlMac, kNetMacTableSet, both);
}

struct Sample {
  Bytes bytes;
  uint64_t feature;
  ControlVerb verb;
};

std::vector<Sample> Samples() {
  std::vector<Sample> samples;
  for (uint8_t mode = 0; mode < 6; ++mode) {
    samples.push_back({{kNetControlRx, mode, 1},
                       mode < 2 ? kNetFeatureControlRx : kNetFeatureControlRxExtra,
                       ControlVerb::kSetMode});
  }
  samples.push_back(
      {Tables(Table(2, 2), Table(1, 1)), kNetFeatureControlRx, ControlVerb::kSetTables});
  samples.push_back({{kNetControlMac, kNetMacAddressSet, 2, 0, 0, 0, 0, 9},
                     kNetFeatureControlMacAddress,
                     ControlVerb::kSetAddress});
  samples.push_back(
      {{kNetControlVlan, kNetVlanAdd, 0xff, 0x0f}, kNetFeatureControlVlan, ControlVerb::kAddVlan});
  samples.push_back(
      {{kNetControlVlan, kNetVlanDelete, 7, 0}, kNetFeatureControlVlan, ControlVerb::kDeleteVlan});
  samples.push_back({{kNetControlAnnounce, kNetAnnounceAck},
                     kNetFeatureGuestAnnounce,
                     ControlVerb::kAnnounceAck});
  samples.push_back({{kNetControlMultiQueue, kNetMultiQueuePairsSet, 4, 0},
                     kNetFeatureMultiQueue,
                     ControlVerb::kSetPairs});
  samples.push_back({{kNetControlGuestOffloads, kNetGuestOffloadsSet, 0x82, 0, 0, 0, 0, 0, 0, 0},
                     kNetFeatureControlGuestOffloads,
                     ControlVerb::kSetOffloads});
  return samples;
}

TEST(ControlCommandTest, EveryCommandCutInAnyWay) {
  for (const Sample& sample : Samples()) {
    for (size_t piece_bytes = 1; piece_bytes <= sample.bytes.size(); ++piece_bytes) {
      ControlCommand command;
      ASSERT_EQ(Parse(sample.bytes, &command, kLimits, piece_bytes), ControlRule::kNone);
      EXPECT_EQ(command.verb, sample.verb);
    }
  }
}

TEST(ControlCommandTest, EachNeedsItsFeature) {
  for (const Sample& sample : Samples()) {
    EXPECT_EQ(RuleOf(sample.bytes, {.features = kEverything & ~sample.feature, .max_pairs = 4}),
              ControlRule::kNotNegotiated);
  }
}

TEST(ControlCommandTest, NoneMayEndEarlyOrGoOn) {
  for (const Sample& sample : Samples()) {
    for (size_t size = 0; size < sample.bytes.size(); ++size) {
      const auto end = sample.bytes.begin() + static_cast<ptrdiff_t>(size);
      EXPECT_EQ(RuleOf(Bytes(sample.bytes.begin(), end)), ControlRule::kTooShort) << size;
    }
    Bytes longer = sample.bytes;
    longer.push_back(0);
    EXPECT_EQ(RuleOf(longer), ControlRule::kTooLong);
  }
}

TEST(ControlCommandTest, ValuesArriveAsTheyWereSent) {
  ControlCommand command;
  Parse({kNetControlRx, kNetRxNoBroadcast, 0}, &command);
  EXPECT_EQ(command.mode, kNetRxNoBroadcast);
  EXPECT_FALSE(command.on);
  Parse({kNetControlVlan, kNetVlanAdd, 0x23, 0x01}, &command);
  EXPECT_EQ(command.vlan_id, 0x123);
  Parse({kNetControlMac, kNetMacAddressSet, 2, 1, 2, 3, 4, 5}, &command);
  EXPECT_EQ(FormatMac(command.address), "02:01:02:03:04:05");
  Parse(Tables(Table(2, 2), Table(1, 1)), &command);
  ASSERT_EQ(command.unicast.size, 2u);
  EXPECT_EQ(FormatMac(command.unicast.addresses[1]), "02:00:00:00:00:01");
  EXPECT_EQ(command.multicast.size, 1u);
  Parse({kNetControlGuestOffloads, kNetGuestOffloadsSet, 0x82, 0, 0, 0, 0, 0, 0, 0}, &command);
  EXPECT_EQ(command.offloads, kNetFeatureGuestChecksum | kNetFeatureGuestTso4);
}

TEST(ControlCommandTest, PairsAreThoseThatThereAre) {  // field failure 23
  for (const int pairs : {0, 5, 0x8000, 0x8001, 0xffff}) {
    EXPECT_EQ(RuleOf({kNetControlMultiQueue, kNetMultiQueuePairsSet, static_cast<uint8_t>(pairs),
                      static_cast<uint8_t>(pairs >> 8)}),
              ControlRule::kBadPairs)
        << pairs;
  }
  ControlCommand command;
  ASSERT_EQ(Parse({kNetControlMultiQueue, kNetMultiQueuePairsSet, 1, 0}, &command),
            ControlRule::kNone);
  EXPECT_EQ(command.pairs, 1);
}

TEST(ControlCommandTest, CountsOfTablesAreNotTrusted) {
  for (const uint32_t told : {2u, 0x10000000u, 0xffffffffu, 0x2aaaaaabu}) {
    EXPECT_EQ(RuleOf(Tables(Table(1, told), Table(0, 0))), ControlRule::kTooShort) << told;
    EXPECT_EQ(RuleOf(Tables(Table(0, 0), Table(1, told))), ControlRule::kTooShort) << told;
  }
}

TEST(ControlCommandTest, LongTablesAreCutToOneMoreThanFits) {
  ControlCommand command;
  ASSERT_EQ(Parse(Tables(Table(500, 500), Table(64, 64)), &command, kLimits, 7),
            ControlRule::kNone);
  EXPECT_EQ(command.unicast.size, kMostFilterAddresses + 1);
  EXPECT_EQ(command.multicast.size, 64u);
  EXPECT_EQ(FormatMac(command.multicast.addresses[63]), "02:00:00:00:00:3f");
}

TEST(ControlCommandTest, WhatMakesNoSense) {
  ControlCommand command;
  EXPECT_EQ(Parse({kNetControlRx, kNetRxPromiscuous, 1}, &command, kLimits, 3, 0),
            ControlRule::kNoRoomForAck);
  EXPECT_EQ(RuleOf({kNetControlRx, 6, 1}), ControlRule::kUnknown);
  EXPECT_EQ(RuleOf({6, 0, 1}), ControlRule::kUnknown);
  EXPECT_EQ(RuleOf({255, 255}), ControlRule::kUnknown);
  EXPECT_EQ(RuleOf({kNetControlVlan, kNetVlanAdd, 0x00, 0x10}), ControlRule::kBadVlan);
  EXPECT_EQ(RuleOf({kNetControlMac, kNetMacAddressSet, 0, 0, 0, 0, 0, 0}),
            ControlRule::kBadAddress);
  EXPECT_EQ(RuleOf({kNetControlMac, kNetMacAddressSet, 3, 0, 0, 0, 0, 9}),
            ControlRule::kBadAddress);
}

TEST(ControlCommandTest, OffloadsAreNegotiatedOnesThatFitTogether) {
  const Bytes tso_with_checksum = {
      kNetControlGuestOffloads, kNetGuestOffloadsSet, 0x82, 0, 0, 0, 0, 0, 0, 0};
  const Bytes tso_alone = {
      kNetControlGuestOffloads, kNetGuestOffloadsSet, 0x80, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(RuleOf(tso_alone), ControlRule::kBadOffloads);
  const uint64_t features = kNetFeatureControlGuestOffloads | kNetFeatureGuestChecksum;
  EXPECT_EQ(RuleOf(tso_with_checksum, {.features = features}), ControlRule::kBadOffloads);
  EXPECT_EQ(RuleOf(tso_with_checksum, {.features = features | kNetFeatureGuestTso4}),
            ControlRule::kNone);
  // Host features are no guest's offloads.
  EXPECT_EQ(RuleOf({kNetControlGuestOffloads, kNetGuestOffloadsSet, 1, 0, 0, 0, 0, 0, 0, 0}),
            ControlRule::kBadOffloads);
}

TEST(ControlCommandTest, EveryRuleHasItsOwnText) {
  std::set<std::string_view> texts;
  for (int rule = 0; rule < kNumControlRules; ++rule) {
    texts.insert(DescribeControlRule(static_cast<ControlRule>(rule)));
  }
  EXPECT_EQ(texts.size(), static_cast<size_t>(kNumControlRules));
  EXPECT_EQ(texts.count("unknown"), 0u);
}

}  // namespace
}  // namespace vof
