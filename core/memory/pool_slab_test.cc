// SPDX-License-Identifier: Apache-2.0
#include "core/memory/pool_slab.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "core/memory/bit_tree.h"

namespace vof {
namespace {

constexpr size_t kMiB = 1u << 20;
constexpr int kTopClass = PoolSlab::kNumClasses - 1;

size_t ResidentBytes(const PoolSlab& slab) {
  const auto page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages(slab.bytes().size_bytes / page_bytes);
  EXPECT_EQ(mincore(slab.bytes().data, pages.size() * page_bytes, pages.data()), 0);
  size_t resident_bytes = 0;
  for (const unsigned char page : pages) resident_bytes += (page & 1) != 0 ? page_bytes : 0;
  return resident_bytes;
}

TEST(BitTreeTest, AgreesWithASet) {
  for (const size_t capacity : {size_t{1}, size_t{64}, size_t{65}, size_t{5000}, size_t{300'000}}) {
    BitTree tree(capacity);
    std::set<size_t> expected;
    std::mt19937 random(1);
    EXPECT_TRUE(tree.empty());
    for (int i = 0; i < 3000; ++i) {
      const size_t number = random() % capacity;
      if (random() % 2 == 0) {
        tree.Insert(number);
        expected.insert(number);
      } else {
        tree.Remove(number);
        expected.erase(number);
      }
      ASSERT_EQ(tree.empty(), expected.empty());
      ASSERT_EQ(tree.Contains(number), expected.contains(number));
      if (!expected.empty()) {
        ASSERT_EQ(tree.First(), *expected.begin());
      }
    }
  }
}

TEST(PoolSlabTest, TakesTheLowestBlockThatFits) {
  PoolSlab slab(16 * kMiB);
  std::byte* const base = slab.bytes().data;
  EXPECT_EQ(slab.Take(0), base);
  EXPECT_EQ(slab.Take(3), base + 4096);
  EXPECT_EQ(slab.Take(1), base + 1024);
  EXPECT_EQ(slab.Take(0), base + 512);
  EXPECT_EQ(slab.Take(kTopClass), base + 8 * kMiB);
  EXPECT_FALSE(slab.HasFree(kTopClass));
  EXPECT_EQ(slab.Take(kTopClass), nullptr);
  slab.Give(base + 512, 0);
  slab.Give(base + 1024, 1);
  slab.Give(base, 0);
  slab.Give(base + 4096, 3);
  EXPECT_EQ(slab.Take(kTopClass), base) << "all of it merged";
}

TEST(PoolSlabTest, UsesWhatIsBeyondTheLastLargeBlock) {
  PoolSlab slab(16 * kMiB + 4 * kMiB + 4096 + 512 + 100);
  EXPECT_EQ(slab.bytes().size_bytes, 20 * kMiB + 4608);
  size_t blocks = 0;
  while (slab.Take(0) != nullptr) ++blocks;
  EXPECT_EQ(blocks, slab.bytes().size_bytes / 512);
  for (size_t i = 0; i < blocks; ++i) slab.Give(slab.bytes().data + i * 512, 0);
  EXPECT_EQ(slab.Take(kTopClass), slab.bytes().data);
  EXPECT_EQ(slab.Take(kTopClass), slab.bytes().data + 8 * kMiB);
  EXPECT_EQ(slab.Take(kTopClass), nullptr);
  EXPECT_EQ(slab.Take(kTopClass - 1), slab.bytes().data + 16 * kMiB);
}

TEST(PoolSlabTest, BlocksNeverOverlapAndAllComeBack) {
  PoolSlab slab(24 * kMiB);
  std::mt19937 random(2);
  std::map<std::byte*, int> held;
  for (int i = 0; i < 50'000; ++i) {
    if (random() % 2 == 0) {
      const auto size_class = static_cast<int>(random() % PoolSlab::kNumClasses);
      const bool had = slab.HasFree(size_class);
      std::byte* data = slab.Take(size_class);
      ASSERT_EQ(data != nullptr, had);
      if (data == nullptr) continue;
      const size_t size_bytes = PoolSlab::ClassBytes(size_class);
      ASSERT_EQ(static_cast<size_t>(data - slab.bytes().data) % size_bytes, 0u);
      const auto next = held.lower_bound(data);
      ASSERT_TRUE(next == held.end() || data + size_bytes <= next->first);
      if (next != held.begin()) {
        const auto& [before, before_class] = *std::prev(next);
        ASSERT_LE(before + PoolSlab::ClassBytes(before_class), data);
      }
      held[data] = size_class;
    } else if (!held.empty()) {
      auto victim = held.lower_bound(slab.bytes().data + random() % slab.bytes().size_bytes);
      if (victim == held.end()) victim = held.begin();
      slab.Give(victim->first, victim->second);
      held.erase(victim);
    }
  }
  for (const auto& [data, size_class] : held) slab.Give(data, size_class);
  for (int i = 0; i < 3; ++i) EXPECT_NE(slab.Take(kTopClass), nullptr);
}

TEST(PoolSlabTest, TrimGivesBackWhatWasNotUsedSince) {
  PoolSlab slab(32 * kMiB);
  EXPECT_EQ(ResidentBytes(slab), 0u);
  std::vector<std::byte*> peak;
  for (int i = 0; i < 4; ++i) {
    peak.push_back(slab.Take(kTopClass));
    std::memset(peak.back(), 1, 8 * kMiB);
  }
  EXPECT_EQ(ResidentBytes(slab), 32 * kMiB);
  for (size_t i = 1; i < peak.size(); ++i) slab.Give(peak[i], kTopClass);
  slab.Trim();
  EXPECT_EQ(slab.resident_bytes(), 32 * kMiB) << "used just now";
  slab.Give(slab.Take(kTopClass), kTopClass);  // the lowest free one
  slab.Trim();
  EXPECT_EQ(slab.resident_bytes(), 16 * kMiB);
  EXPECT_EQ(ResidentBytes(slab), 16 * kMiB);
  slab.Trim();
  EXPECT_EQ(ResidentBytes(slab), 8 * kMiB);
  EXPECT_EQ(peak[0][100], std::byte{1});
}

TEST(PoolSlabTest, PinnedMemoryStays) {
  PoolSlab slab(16 * kMiB);
  std::byte* data = slab.Take(kTopClass);
  std::memset(data, 1, 8 * kMiB);
  slab.Pin();
  slab.Give(data, kTopClass);
  slab.Trim();
  slab.Trim();
  EXPECT_EQ(ResidentBytes(slab), 8 * kMiB);
}

}  // namespace
}  // namespace vof
