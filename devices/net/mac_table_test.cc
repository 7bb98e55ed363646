// SPDX-License-Identifier: Apache-2.0
#include "devices/net/mac_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <utility>

namespace vof {
namespace {

constexpr Nanoseconds kSecond = kNanosecondsPerSecond;
constexpr MonotonicTime kStart = 1000 * kSecond;

MacAddress Mac(uint32_t number) {
  return {{0x02, 0, static_cast<uint8_t>(number >> 24), static_cast<uint8_t>(number >> 16),
           static_cast<uint8_t>(number >> 8), static_cast<uint8_t>(number)}};
}

TEST(MacTableTest, KnowsWhoWasHeardWhere) {
  MacTable table({});
  EXPECT_EQ(table.Find(Mac(1), 0, kStart), std::nullopt);
  EXPECT_TRUE(table.Learn(Mac(1), 0, 3, kStart));
  EXPECT_EQ(table.Find(Mac(1), 0, kStart), 3u);
  EXPECT_EQ(table.Find(Mac(1), 7, kStart), std::nullopt) << "VLANs do not know each other";
  EXPECT_TRUE(table.Learn(Mac(1), 7, 4, kStart));
  EXPECT_EQ(table.Find(Mac(1), 0, kStart), 3u);
  EXPECT_EQ(table.Find(Mac(1), 7, kStart), 4u);
}

TEST(MacTableTest, WhoIsHeardElsewhereHasMoved) {
  MacTable table({});
  table.Learn(Mac(1), 0, 3, kStart);
  table.Learn(Mac(1), 0, 4, kStart + kSecond);
  EXPECT_EQ(table.Find(Mac(1), 0, kStart + kSecond), 4u);
  EXPECT_EQ(table.num_entries(), 1u);
}

TEST(MacTableTest, ForgetsWhoWasNotHeardForLong) {
  MacTable table({.age = 10 * kSecond});
  table.Learn(Mac(1), 0, 3, kStart);
  table.Learn(Mac(2), 0, 3, kStart);
  table.Learn(Mac(1), 0, 3, kStart + 5 * kSecond);
  EXPECT_EQ(table.Find(Mac(1), 0, kStart + 10 * kSecond), 3u);
  EXPECT_EQ(table.Find(Mac(2), 0, kStart + 10 * kSecond), std::nullopt);
}

TEST(MacTableTest, GroupsAreNobodysAddress) {
  MacTable table({});
  EXPECT_TRUE(table.Learn(*ParseMac("ff:ff:ff:ff:ff:ff"), 0, 1, kStart));
  EXPECT_TRUE(table.Learn(*ParseMac("33:33:00:00:00:01"), 0, 1, kStart));
  EXPECT_TRUE(table.Learn(MacAddress{}, 0, 1, kStart));
  EXPECT_EQ(table.num_entries(), 0u);
  EXPECT_EQ(table.Find(MacAddress{}, 0, kStart), std::nullopt);
}

TEST(MacTableTest, APortFillsItsOwnShareOnly) {
  MacTable table({.max_entries = 100, .max_entries_per_port = 10, .age = 60 * kSecond});
  for (uint32_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(table.Learn(Mac(i), 0, 1, kStart), i < 10) << i;
  }
  EXPECT_TRUE(table.Learn(Mac(5000), 0, 2, kStart));
  EXPECT_FALSE(table.Learn(Mac(5000), 0, 1, kStart)) << "nor can it take that of another";
  EXPECT_EQ(table.Find(Mac(5000), 0, kStart), 2u);
  // What is too old makes room.
  EXPECT_TRUE(table.Learn(Mac(77), 0, 1, kStart + 60 * kSecond));
  EXPECT_EQ(table.num_entries(), 1u);
}

TEST(MacTableTest, AFullTableGoesOnFinding) {
  MacTable table({.max_entries = 64, .max_entries_per_port = 64});
  for (uint32_t i = 0; i < 64; ++i) EXPECT_TRUE(table.Learn(Mac(i), 0, i % 4, kStart));
  EXPECT_FALSE(table.Learn(Mac(64), 0, 9, kStart));
  EXPECT_TRUE(table.Learn(Mac(63), 0, 9, kStart)) << "it moved: no entry more";
  for (uint32_t i = 0; i < 63; ++i) EXPECT_EQ(table.Find(Mac(i), 0, kStart), i % 4);
  table.Forget(0);
  EXPECT_EQ(table.num_entries(), 48u);
  EXPECT_EQ(table.Find(Mac(0), 0, kStart), std::nullopt);
  EXPECT_EQ(table.Find(Mac(1), 0, kStart), 1u);
  EXPECT_TRUE(table.Learn(Mac(64), 0, 9, kStart));
}

// Against a map, in a table so small that everybody is in somebody's way.
TEST(MacTableTest, FindsWhatAMapFinds) {
  std::mt19937 random(7);
  MacTable table({.max_entries = 32, .max_entries_per_port = 32, .age = 20 * kSecond});
  std::map<std::pair<uint32_t, uint16_t>, std::pair<uint32_t, MonotonicTime>> model;
  MonotonicTime now = kStart;
  for (int step = 0; step < 200'000; ++step) {
    now += random() % (kSecond / 10);
    const uint32_t number = random() % 24;
    const auto vlan_id = static_cast<uint16_t>(random() % 2);
    const uint32_t port = random() % 3;
    if (random() % 1000 == 0) {
      table.Forget(port);
      std::erase_if(model, [&](const auto& entry) { return entry.second.first == port; });
    } else if (random() % 3 == 0 && table.Learn(Mac(number), vlan_id, port, now)) {
      model[{number, vlan_id}] = {port, now};
    }
    std::erase_if(model,
                  [&](const auto& entry) { return now - entry.second.second >= 20 * kSecond; });
    const auto known = model.find({number, vlan_id});
    const auto found = table.Find(Mac(number), vlan_id, now);
    ASSERT_EQ(found.has_value(), known != model.end()) << step;
    if (found.has_value()) {
      ASSERT_EQ(*found, known->second.first) << step;
    }
  }
  EXPECT_GT(table.num_entries(), 0u);
}

}  // namespace
}  // namespace vof
