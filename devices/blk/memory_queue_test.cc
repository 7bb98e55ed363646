// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/memory_queue.h"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "core/base/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

using ::testing::Each;

constexpr uint64_t kDiskBytes = 64u << 20;
constexpr uint64_t kMiB = 1u << 20;

class MemoryQueueTest : public testing::Test {
 protected:
  void SetUp() override {
    auto arena = MemoryArena::Create({.size_bytes = kDiskBytes});
    ASSERT_TRUE(arena.ok()) << arena.status();
    arena_ = *arena;
    queue_ = std::make_unique<MemoryQueue>(arena_, MemoryZeroing{.time = &time_});
    std::fill_n(arena_->data(), kDiskBytes, std::byte{7});
  }

  StoreOperation MakeZero(std::span<const StoreRange> ranges) {
    StoreOperation operation;
    operation.verb = StoreVerb::kWriteZeroes;
    operation.ranges = ranges;
    return operation;
  }
  void Submit(StoreOperation* operation) {
    StoreOperation* const batch[] = {operation};
    queue_->Submit(batch);
  }
  // Bytes of the disk that are zero.
  uint64_t Zeroes() const {
    return static_cast<uint64_t>(
        std::count(arena_->data(), arena_->data() + kDiskBytes, std::byte{0}));
  }
  std::vector<StoreOperation*> Reap() {
    std::array<StoreOperation*, 8> done;
    return {done.begin(), done.begin() + static_cast<ptrdiff_t>(queue_->Reap(done))};
  }

  std::shared_ptr<MemoryArena> arena_;
  WorkTime time_{{.share = kInfiniteFuture / 4, .window = kNanosecondsPerSecond}};
  std::unique_ptr<MemoryQueue> queue_;
};

TEST_F(MemoryQueueTest, LittleIsZeroedAtOnce) {
  const std::array<StoreRange, 2> ranges = {{{4096, 4096, false}, {kMiB + 512, 512, true}}};
  StoreOperation operation = MakeZero(ranges);
  Submit(&operation);
  EXPECT_EQ(operation.status, StoreStatus::kOk);
  EXPECT_EQ(Zeroes(), 4096u + 512u);
}

// 288 bytes of a peer ask for 64 MiB: others on this thread must not wait for them.
TEST_F(MemoryQueueTest, MuchIsZeroedInSteps) {
  std::array<StoreRange, 16> ranges;
  for (uint64_t i = 0; i < ranges.size(); ++i) ranges[i] = {i * 4 * kMiB, 4 * kMiB, false};
  StoreOperation operation = MakeZero(ranges);
  Submit(&operation);
  EXPECT_EQ(operation.status, StoreStatus::kPending);
  EXPECT_EQ(Zeroes(), 0u);
  uint64_t before = 0;
  std::vector<StoreOperation*> done;
  for (int i = 0; i < 1000 && done.empty(); ++i) {
    done = Reap();
    if (i % 64 == 0 || !done.empty()) {
      const uint64_t now = Zeroes();
      EXPECT_LE(now - before, 64 * kZeroBytesAtOnce);
      EXPECT_GT(now, before);
      before = now;
    }
  }
  EXPECT_THAT(done, Each(&operation));
  EXPECT_EQ(operation.status, StoreStatus::kOk);
  EXPECT_EQ(Zeroes(), kDiskBytes);
}

TEST_F(MemoryQueueTest, ManySmallOnesShareTheStep) {
  std::vector<std::array<StoreRange, 1>> ranges;
  std::vector<StoreOperation> operations;
  for (uint64_t i = 0; i < 100; ++i) ranges.push_back({{{i * 16384, 16384, false}}});
  for (const auto& range : ranges) operations.push_back(MakeZero(range));
  for (StoreOperation& operation : operations) Submit(&operation);
  EXPECT_EQ(Zeroes(), kZeroBytesAtOnce);
  EXPECT_EQ(operations.front().status, StoreStatus::kOk);
  EXPECT_EQ(operations.back().status, StoreStatus::kPending);
  size_t finished = kZeroBytesAtOnce / 16384;
  for (int i = 0; i < 1000 && finished < operations.size(); ++i) {
    for (StoreOperation* done : Reap()) EXPECT_EQ(done, &operations[finished++]) << "their order";
  }
  EXPECT_EQ(Zeroes(), 100u * 16384);
  EXPECT_TRUE(Reap().empty());
}

TEST_F(MemoryQueueTest, PagesAreDroppedInLargerSteps) {
  const std::array<StoreRange, 1> ranges = {{{kMiB + 4096, 40 * kMiB, true}}};
  StoreOperation operation = MakeZero(ranges);
  Submit(&operation);
  ASSERT_EQ(operation.status, StoreStatus::kPending);
  int reaps = 1;
  while (Reap().empty()) ++reaps;
  EXPECT_LE(reaps, 24);
  EXPECT_GE(reaps, 16);
  EXPECT_EQ(Zeroes(), 40 * kMiB);
}

// An adapter knows them.
TEST_F(MemoryQueueTest, PagesThatAreKeptAreWrittenInSmallSteps) {
  const auto keep = arena_->KeepPages();
  const std::array<StoreRange, 1> ranges = {{{0, 4 * kMiB, true}}};
  StoreOperation operation = MakeZero(ranges);
  Submit(&operation);
  ASSERT_EQ(operation.status, StoreStatus::kPending);
  EXPECT_TRUE(Reap().empty());
  EXPECT_EQ(Zeroes(), kZeroBytesAtOnce);
  while (Reap().empty()) continue;
  EXPECT_EQ(Zeroes(), 4 * kMiB);
}

TEST_F(MemoryQueueTest, WhatIsCancelledEndsAtTheNextReap) {
  const std::array<StoreRange, 1> ranges = {{{0, 32 * kMiB, false}}};
  StoreOperation first = MakeZero(ranges), second = MakeZero(ranges);
  Submit(&first);
  Submit(&second);
  EXPECT_TRUE(Reap().empty());
  queue_->CancelAll();
  EXPECT_EQ(Reap().size(), 2u);
  EXPECT_EQ(first.status, StoreStatus::kCancelled);
  EXPECT_EQ(second.status, StoreStatus::kCancelled);
  const std::array<StoreRange, 1> small = {{{32 * kMiB, 512, false}}};
  StoreOperation third = MakeZero(small);
  Submit(&third);
  EXPECT_EQ(third.status, StoreStatus::kOk) << "it goes on afterwards";
}

// A thousand queues of one thread do not each take their step in every turn.
TEST_F(MemoryQueueTest, AllQueuesOfAThreadShareItsTime) {
  WorkTime spent({.share = 1, .window = 3600 * kNanosecondsPerSecond});
  MemoryQueue first(arena_, {.time = &spent}), second(arena_, {.time = &spent});
  const std::array<StoreRange, 1> ranges = {{{0, 64u << 10, false}}};
  StoreOperation a = MakeZero(ranges), b = MakeZero(ranges);
  StoreOperation* batch[] = {&a};
  first.Submit(batch);
  EXPECT_EQ(a.status, StoreStatus::kOk) << "there was a nanosecond";
  batch[0] = &b;
  second.Submit(batch);
  std::array<StoreOperation*, 8> done;
  EXPECT_EQ(b.status, StoreStatus::kPending);
  EXPECT_EQ(second.Reap(done), 0u);
  second.CancelAll();
  EXPECT_EQ(second.Reap(done), 1u);
}

TEST(WorkTimeTest, WhatWasTooMuchIsPaidBack) {
  WorkTime time({.share = 10, .window = 100});
  EXPECT_TRUE(time.Begin(1000));
  time.End(4);
  EXPECT_TRUE(time.Begin(1005));
  time.End(30);  // 24 too much
  EXPECT_FALSE(time.Begin(1099));
  EXPECT_FALSE(time.Begin(1100)) << "14 are owed";
  EXPECT_FALSE(time.Begin(1200)) << "4 are owed";
  EXPECT_TRUE(time.Begin(1300));
  time.End(1000);
  EXPECT_TRUE(time.Begin(1'000'000'000)) << "long ago";
}

TEST_F(MemoryQueueTest, NothingToZeroIsDone) {
  StoreOperation none = MakeZero({});
  Submit(&none);
  EXPECT_EQ(none.status, StoreStatus::kOk);
  const std::array<StoreRange, 2> ranges = {{{0, 0, false}, {0, kMiB, false}}};
  StoreOperation some = MakeZero(ranges);
  Submit(&some);
  while (some.status == StoreStatus::kPending) Reap();
  EXPECT_EQ(Zeroes(), kMiB);
}

}  // namespace
}  // namespace vof
