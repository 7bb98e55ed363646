// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/memory_arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace vof {
namespace {

constexpr uint64_t kMiB = 1u << 20;

class MemoryArenaTest : public ::testing::TestWithParam<HugePages> {
 protected:
  std::shared_ptr<MemoryArena> Make(uint64_t size_bytes, uint64_t max_size_bytes = 0) {
    auto arena = MemoryArena::Create({size_bytes, max_size_bytes, GetParam()});
    if (!arena.ok()) {
      EXPECT_EQ(GetParam(), HugePages::kReserved) << arena.status();
      EXPECT_NE(arena.status().ToString().find("nr_hugepages"), std::string::npos)
          << arena.status();
      return nullptr;
    }
    return *arena;
  }
};
INSTANTIATE_TEST_SUITE_P(Pages, MemoryArenaTest,
                         ::testing::Values(HugePages::kOff, HugePages::kTransparent,
                                           HugePages::kReserved));

TEST_P(MemoryArenaTest, ZeroClearsExactlyItsRange) {
  const auto arena = Make(5 * kMiB);
  if (arena == nullptr) GTEST_SKIP() << "no huge pages are reserved on this machine";
  std::mt19937_64 random(1);
  std::vector<std::byte> model(5 * kMiB);
  for (int round = 0; round < 60; ++round) {
    std::memset(arena->data(), 0x77, model.size());
    std::fill(model.begin(), model.end(), std::byte{0x77});
    const uint64_t offset = random() % model.size();
    const uint64_t limit = round % 2 == 0 ? 20'000 : model.size();
    const uint64_t length = random() % (std::min(limit, model.size() - offset) + 1);
    arena->Zero(offset, length, round % 3 != 0);
    std::fill_n(model.begin() + static_cast<ptrdiff_t>(offset), length, std::byte{0});
    ASSERT_EQ(std::memcmp(arena->data(), model.data(), model.size()), 0) << offset << " " << length;
  }
}

TEST_P(MemoryArenaTest, GrowsInPlaceAndForgetsWhatItLost) {
  const auto arena = Make(kMiB + 512, 8 * kMiB);
  if (arena == nullptr) GTEST_SKIP() << "no huge pages are reserved on this machine";
  std::byte* const data = arena->data();
  std::memset(data, 0x11, kMiB + 512);
  ASSERT_TRUE(arena->Resize(8 * kMiB).ok());
  EXPECT_EQ(arena->data(), data);
  EXPECT_EQ(data[kMiB + 511], std::byte{0x11});
  EXPECT_EQ(data[kMiB + 512], std::byte{0});
  std::memset(data, 0x22, 8 * kMiB);
  ASSERT_TRUE(arena->Resize(kMiB).ok());
  EXPECT_EQ(arena->size_bytes(), kMiB);
  data[kMiB + 5] = std::byte{1};  // a late write behind the end: still mapped
  ASSERT_TRUE(arena->Resize(2 * kMiB).ok());
  EXPECT_EQ(data[kMiB - 1], std::byte{0x22});
  EXPECT_TRUE(
      std::all_of(data + kMiB, data + 2 * kMiB, [](std::byte b) { return b == std::byte{0}; }));
}

TEST_P(MemoryArenaTest, CannotGrowBeyondItsReservation) {
  const auto arena = Make(kMiB, 4 * kMiB);
  if (arena == nullptr) GTEST_SKIP() << "no huge pages are reserved on this machine";
  const absl::Status status = arena->Resize(100 * kMiB);
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_NE(status.ToString().find("max_size"), std::string::npos);
  EXPECT_EQ(arena->size_bytes(), kMiB);
}

TEST(MemoryArenaOptionsTest, SizesThatCannotBeAreRefused) {
  EXPECT_FALSE(MemoryArena::Create({.size_bytes = 0}).ok());
  EXPECT_FALSE(MemoryArena::Create({.size_bytes = ~uint64_t{0}}).ok());
  EXPECT_FALSE(MemoryArena::Create({.size_bytes = 1ull << 50}).ok());
  EXPECT_FALSE(MemoryArena::Create({.size_bytes = 4096, .max_size_bytes = 512}).ok());
  EXPECT_FALSE(MemoryArena::Create({.size_bytes = 4096, .max_size_bytes = ~uint64_t{0}}).ok());
}

TEST(MemoryArenaOptionsTest, LargeDisksTakeNoMemoryBeforeTheyAreWritten) {
  // More than machines have; ThreadSanitizer leaves a program little more address space.
  constexpr uint64_t kLarge = 1ull << 38;
  const auto arena = MemoryArena::Create({.size_bytes = kLarge, .max_size_bytes = kLarge});
  ASSERT_TRUE(arena.ok()) << arena.status();
  (*arena)->data()[kLarge - 1] = std::byte{1};
}

TEST(MemoryArenaPopulateTest, TakesPagesAtOnceAndOnlyWhenAsked) {
  const auto resident_pages = [](const MemoryArena& arena) {
    std::vector<unsigned char> pages(arena.size_bytes() / 4096);
    EXPECT_EQ(mincore(arena.data(), arena.size_bytes(), pages.data()), 0);
    return std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return (p & 1) != 0; });
  };
  const auto lazy = *MemoryArena::Create({.size_bytes = kMiB});
  EXPECT_EQ(resident_pages(*lazy), 0);
  const auto eager = *MemoryArena::Create({.size_bytes = kMiB, .populate = true});
  EXPECT_EQ(resident_pages(*eager), static_cast<ptrdiff_t>(kMiB / 4096));
  ASSERT_TRUE(eager->Resize(2 * kMiB).ok());
  EXPECT_EQ(resident_pages(*eager), static_cast<ptrdiff_t>(2 * kMiB / 4096));
}

// Whether the page at `place` is backed by memory.
bool IsResident(std::byte* place) {
  unsigned char resident = 0;
  EXPECT_EQ(mincore(place, 1, &resident), 0);
  return (resident & 1) != 0;
}

TEST_P(MemoryArenaTest, PagesAreKeptForThoseWhoWereToldOfThem) {
  if (GetParam() != HugePages::kOff) GTEST_SKIP() << "one page at a time shows it best";
  const auto arena = Make(4 * kMiB);
  ASSERT_NE(arena, nullptr);
  std::byte* const page = arena->data() + kMiB;
  std::shared_ptr<const void> keep = arena->KeepPages();
  std::shared_ptr<const void> another = arena->KeepPages();
  *page = std::byte{7};
  arena->Zero(0, 2 * kMiB, /*may_unmap=*/true);
  EXPECT_TRUE(IsResident(page)) << "an adapter would go on to read the old page";
  EXPECT_EQ(*page, std::byte{0});
  *page = std::byte{7};
  ASSERT_TRUE(arena->Resize(kMiB).ok());
  EXPECT_TRUE(IsResident(page)) << "nor does shrinking give it back";
  ASSERT_TRUE(arena->Resize(4 * kMiB).ok());
  EXPECT_EQ(*page, std::byte{0});
  keep.reset();
  arena->Zero(0, 2 * kMiB, true);
  EXPECT_TRUE(IsResident(page)) << "somebody still knows it";
  another.reset();
  arena->Zero(0, 2 * kMiB, true);
  EXPECT_FALSE(IsResident(page));
}

TEST_P(MemoryArenaTest, KeepingPagesKeepsTheArena) {
  auto arena = Make(2 * kMiB);
  if (arena == nullptr) GTEST_SKIP() << "no huge pages are reserved on this machine";
  const std::shared_ptr<const void> keep = arena->KeepPages();
  const std::byte* const data = arena->data();
  arena.reset();
  EXPECT_EQ(*data, std::byte{0}) << "still mapped";
}

}  // namespace
}  // namespace vof
