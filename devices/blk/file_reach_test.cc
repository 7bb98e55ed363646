// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/file_reach.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "core/base/time.h"
#include "devices/blk/store_bounds.h"

namespace vof {
namespace {

constexpr Nanoseconds kShort = 20 * kNanosecondsPerMillisecond;

// What reaches so far, on a thread of its own.
class OtherThread {
 public:
  OtherThread(FileReach* reach, uint64_t end_bytes) {
    thread_ = std::thread([this, reach, end_bytes] {
      FileReach::Queue queue(reach);
      queue.Raise(end_bytes);
      is_up_ = true;
      while (!lower_) std::this_thread::yield();
      queue.Lower(0);
      while (!end_) std::this_thread::yield();
    });
    while (!is_up_) std::this_thread::yield();
  }
  ~OtherThread() {
    lower_ = end_ = true;
    thread_.join();
  }
  void Lower() { lower_ = true; }

 private:
  std::atomic<bool> is_up_ = false, lower_ = false, end_ = false;
  std::thread thread_;
};

TEST(FileReachTest, EndsOfChanges) {
  StoreOperation op;
  EXPECT_EQ(EndOfChange(op), 0u);  // a flush
  op.verb = StoreVerb::kRead;
  op.offset_bytes = 512;
  op.length_bytes = 1024;
  EXPECT_EQ(EndOfChange(op), 0u);
  op.verb = StoreVerb::kWrite;
  EXPECT_EQ(EndOfChange(op), 1536u);
  op.length_bytes = UINT64_MAX;
  EXPECT_EQ(EndOfChange(op), UINT64_MAX);
  EXPECT_FALSE(IsInside(op, UINT64_MAX));
  const std::array<StoreRange, 2> ranges = {{{4096, 512, false}, {0, 1024, true}}};
  op.verb = StoreVerb::kDiscard;
  op.ranges = ranges;
  EXPECT_EQ(EndOfChange(op), 4608u);
  EXPECT_TRUE(IsInside(op, 4608));
  EXPECT_FALSE(IsInside(op, 4607));
}

TEST(FileReachTest, NothingToWaitFor) {
  FileReach reach;
  EXPECT_TRUE(reach.WaitWithin(0).ok());
  OtherThread other(&reach, 1000);
  EXPECT_TRUE(reach.WaitWithin(1000).ok());
}

TEST(FileReachTest, WaitsUntilTheReachIsLowered) {
  FileReach reach;
  OtherThread other(&reach, 1001);
  EXPECT_EQ(reach.WaitWithin(1000, kShort).code(), absl::StatusCode::kUnavailable);
  std::atomic<bool> done = false;
  std::thread waiter([&] {
    EXPECT_TRUE(reach.WaitWithin(1000).ok());
    done = true;
  });
  EXPECT_EQ(reach.WaitWithin(UINT64_MAX).code(), absl::StatusCode::kOk);
  EXPECT_FALSE(done);
  other.Lower();
  waiter.join();
}

TEST(FileReachTest, AQueueThatIsGoneReachesNowhere) {
  FileReach reach;
  { OtherThread other(&reach, 1001); }
  EXPECT_TRUE(reach.WaitWithin(0).ok());
}

TEST(FileReachTest, ItsOwnThreadIsToldAtOnce) {
  FileReach reach;
  FileReach::Queue own(&reach);
  own.Raise(10);
  const MonotonicTime start = MonotonicNow();
  EXPECT_EQ(reach.WaitWithin(9).code(), absl::StatusCode::kUnavailable);
  EXPECT_LT(MonotonicNow() - start, FileReach::kLongestWait);
  EXPECT_TRUE(reach.WaitWithin(10).ok());
}

// Either the queue sees the size or the shrink sees the queue, whoever comes first.
TEST(FileReachTest, NoChangeSlipsBehindAnEnd) {
  FileReach reach;
  std::atomic<uint64_t> size = 2;
  std::atomic<uint64_t> changed_behind = 0;  // what a store would have written there
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      FileReach::Queue queue(&reach);
      while (!stop) {
        queue.Raise(2);
        if (size.load() >= 2) changed_behind.store(1);
        queue.Lower(0);
      }
    });
  }
  for (int i = 0; i < 3000; ++i) {
    size.store(1);
    ASSERT_TRUE(reach.WaitWithin(1).ok());
    changed_behind.store(0);
    std::this_thread::yield();
    ASSERT_EQ(changed_behind.load(), 0u);
    size.store(2);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace vof
