// SPDX-License-Identifier: Apache-2.0
#include "core/memory/buffer_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>
#include <utility>
#include <vector>

namespace {
std::atomic<int> g_allocations{0};
}  // namespace

// Counts what goes through the heap (not inlined, or GCC sees new paired with free); the pool
// itself maps its slab when it is made.
[[gnu::noinline]] void* operator new(size_t size) {
  g_allocations.fetch_add(1);
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, size_t) noexcept { std::free(p); }

namespace vof {
namespace {

constexpr size_t kMiB = 1u << 20;

struct TestWaiter final : PoolWaiter {
  void OnPoolMayHaveMemory() override { ++calls; }
  int calls = 0;
};

TEST(BufferPoolTest, RoundsUpToClasses) {
  BufferPool pool(kMinPoolBytes);
  for (size_t shift = BufferPool::kMinClassShift; shift <= BufferPool::kMaxClassShift; ++shift) {
    const size_t class_bytes = size_t{1} << shift;
    EXPECT_EQ(pool.Allocate(class_bytes).capacity_bytes(), class_bytes);
    if (shift > BufferPool::kMinClassShift) {
      EXPECT_EQ(pool.Allocate(class_bytes / 2 + 1).capacity_bytes(), class_bytes);
    }
  }
  EXPECT_EQ(pool.Allocate(1).capacity_bytes(), 512u);
  EXPECT_FALSE(pool.Allocate(8 * kMiB + 1));
  EXPECT_EQ(pool.in_use_bytes(), 0u);
}

TEST(BufferPoolTest, AlignsToPagesAndIsWritable) {
  BufferPool pool(kMinPoolBytes);
  for (size_t size = 1; size <= 8 * kMiB; size *= 2) {
    PoolBuffer buffer = pool.Allocate(size);
    ASSERT_TRUE(buffer);
    const size_t alignment = size >= 4096 ? 4096 : 512;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % alignment, 0u) << size;
    std::memset(buffer.data(), 0x5a, buffer.capacity_bytes());
  }
}

TEST(BufferPoolTest, LimitCountsWholeClasses) {
  BufferPool pool(16 * kMiB);
  PoolBuffer a = pool.Allocate(8 * kMiB);
  PoolBuffer b = pool.Allocate(4 * kMiB + 1);  // the 8 MiB class
  ASSERT_TRUE(a);
  ASSERT_TRUE(b);
  EXPECT_EQ(pool.in_use_bytes(), 16 * kMiB);
  EXPECT_FALSE(pool.Allocate(1));
  a.Release();
  EXPECT_TRUE(pool.Allocate(1));
}

TEST(BufferPoolTest, SmallLimitIsRaisedToTheLeastUseful) {
  BufferPool pool(1);
  EXPECT_EQ(pool.limit_bytes(), kMinPoolBytes);
}

TEST(BufferPoolTest, MoveTransfersOwnership) {
  BufferPool pool(kMinPoolBytes);
  PoolBuffer a = pool.Allocate(4096);
  std::byte* data = a.data();
  PoolBuffer b = std::move(a);
  EXPECT_FALSE(a);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(a.capacity_bytes(), 0u);
  EXPECT_EQ(b.data(), data);
  b = pool.Allocate(4096);
  EXPECT_EQ(pool.in_use_bytes(), 4096u);
}

TEST(BufferPoolTest, ReusesCacheLastInFirstOut) {
  BufferPool pool(kMinPoolBytes);
  PoolBuffer a = pool.Allocate(4096);
  std::byte* data = a.data();
  a.Release();
  EXPECT_GE(pool.cached_bytes(), 4096u);
  EXPECT_EQ(pool.Allocate(3000).data(), data);
}

TEST(BufferPoolTest, EveryBufferIsCutFromTheSlab) {
  BufferPool pool(20 * kMiB);
  const MutableBuffer slab = pool.slab();
  EXPECT_EQ(slab.size_bytes, pool.limit_bytes());
  std::vector<PoolBuffer> held;
  for (size_t size = 8 * kMiB; size >= 512; size /= 2) held.push_back(pool.Allocate(size));
  for (const PoolBuffer& buffer : held) {
    EXPECT_GE(buffer.data(), slab.data);
    EXPECT_LE(buffer.data() + buffer.capacity_bytes(), slab.data + slab.size_bytes);
  }
}

TEST(BufferPoolTest, WholeLimitCanBeUsedInTheSmallestClass) {
  BufferPool pool(kMinPoolBytes);
  std::vector<PoolBuffer> held;
  for (size_t i = 0; i < kMinPoolBytes / 512; ++i) {
    held.push_back(pool.Allocate(512));
    ASSERT_TRUE(held.back()) << i;
  }
  EXPECT_FALSE(pool.Allocate(1));
  held.clear();
  PoolBuffer a = pool.Allocate(8 * kMiB);
  PoolBuffer b = pool.Allocate(8 * kMiB);
  EXPECT_TRUE(a && b);
}

// The bytes would suffice, but not in one piece: told when they do.
TEST(BufferPoolTest, WaiterIsNotifiedWhenItsBlockIsWhole) {
  BufferPool pool(16 * kMiB);
  std::vector<PoolBuffer> held;
  for (int i = 0; i < 16; ++i) held.push_back(pool.Allocate(kMiB));
  for (size_t i = 1; i < held.size(); i += 2) held[i].Release();
  EXPECT_FALSE(pool.Allocate(2 * kMiB));
  TestWaiter waiter;
  pool.WaitFor(2 * kMiB, &waiter);
  held[6].Release();
  EXPECT_EQ(waiter.calls, 1);
  EXPECT_TRUE(pool.Allocate(2 * kMiB, &waiter));
}

TEST(BufferPoolTest, PeakGoesBackToTheSystem) {
  BufferPool pool(64 * kMiB);
  {
    std::vector<PoolBuffer> peak;
    for (int i = 0; i < 8; ++i) peak.push_back(pool.Allocate(8 * kMiB));
    for (PoolBuffer& buffer : peak) std::memset(buffer.data(), 1, buffer.capacity_bytes());
  }
  EXPECT_EQ(pool.cached_bytes(), 64 * kMiB);
  for (int i = 0; i < 3 * BufferPool::kReturnsPerTrim; ++i) ASSERT_TRUE(pool.Allocate(4096));
  EXPECT_LE(pool.cached_bytes(), 8 * kMiB);
}

TEST(BufferPoolTest, EvictsOtherClassesInsteadOfStrandingMemory) {
  BufferPool pool(16 * kMiB);
  {
    std::vector<PoolBuffer> small;
    for (int i = 0; i < 4096; ++i) small.push_back(pool.Allocate(4096));
    ASSERT_TRUE(small.back());
  }
  EXPECT_EQ(pool.cached_bytes(), 16 * kMiB);
  PoolBuffer a = pool.Allocate(8 * kMiB);
  PoolBuffer b = pool.Allocate(8 * kMiB);
  EXPECT_TRUE(a);
  EXPECT_TRUE(b);
  EXPECT_EQ(pool.cached_bytes(), 0u);
  a.Release();
  EXPECT_TRUE(pool.Allocate(4096));
  EXPECT_LE(pool.in_use_bytes() + pool.cached_bytes(), pool.limit_bytes());
}

TEST(BufferPoolTest, WarmPoolDoesNotAllocate) {
  BufferPool pool(kDefaultPoolBytes);
  std::vector<PoolBuffer> held(64);
  const auto round = [&] {
    for (size_t i = 0; i < held.size(); ++i) held[i] = pool.Allocate(512u << (i % 8));
    for (PoolBuffer& buffer : held) buffer.Release();
  };
  round();
  const size_t cached = pool.cached_bytes();
  const int before = g_allocations.load();
  for (int i = 0; i < 100; ++i) round();
  EXPECT_EQ(g_allocations.load(), before);
  EXPECT_EQ(pool.cached_bytes(), cached);
}

TEST(BufferPoolTest, WaitersAreServedInOrder) {
  BufferPool pool(16 * kMiB);
  PoolBuffer a = pool.Allocate(8 * kMiB);
  PoolBuffer b = pool.Allocate(8 * kMiB);
  TestWaiter first;
  TestWaiter second;
  EXPECT_FALSE(pool.Allocate(8 * kMiB, &first));
  pool.WaitFor(8 * kMiB, &first);
  pool.WaitFor(512, &second);
  a.Release();
  EXPECT_EQ(first.calls, 1);
  EXPECT_EQ(second.calls, 0);
  EXPECT_FALSE(pool.Allocate(512, &second)) << "overtook the first";
  EXPECT_FALSE(pool.Allocate(512)) << "somebody who never waits overtook both";
  a = pool.Allocate(8 * kMiB, &first);
  ASSERT_TRUE(a);
  EXPECT_EQ(second.calls, 0) << "the limit is reached again";
  b.Release();
  EXPECT_EQ(second.calls, 1);
  EXPECT_TRUE(pool.Allocate(512, &second));
  EXPECT_FALSE(pool.has_waiters());
}

TEST(BufferPoolTest, NotifiesOnlyWhenEnoughIsFree) {
  BufferPool pool(16 * kMiB);
  std::vector<PoolBuffer> held;
  for (int i = 0; i < 16; ++i) held.push_back(pool.Allocate(kMiB));
  TestWaiter waiter;
  pool.WaitFor(4 * kMiB, &waiter);
  for (int i = 0; i < 3; ++i) held.pop_back();
  EXPECT_EQ(waiter.calls, 0);
  held.pop_back();
  EXPECT_EQ(waiter.calls, 1);
  held.pop_back();
  EXPECT_EQ(waiter.calls, 1) << "told once";
  EXPECT_TRUE(pool.Allocate(4 * kMiB, &waiter));
}

TEST(BufferPoolTest, AnIdlePoolIsTrimmedWithoutTraffic) {
  BufferPool pool(64 * kMiB);
  PoolBuffer held = pool.Allocate(4096);
  {
    std::vector<PoolBuffer> peak;
    for (int i = 0; i < 7; ++i) peak.push_back(pool.Allocate(8 * kMiB));
    for (const PoolBuffer& buffer : peak) buffer.data()[0] = std::byte{1};
  }
  pool.Trim();
  EXPECT_GE(pool.cached_bytes(), 56 * kMiB) << "in use since the pool was made";
  pool.Trim();
  EXPECT_LE(pool.cached_bytes(), 8 * kMiB) << "only what shares a block with what is in use";
  EXPECT_TRUE(pool.Allocate(8 * kMiB));
}

TEST(BufferPoolTest, ForgettingTheFirstWakesTheNext) {
  BufferPool pool(16 * kMiB);
  PoolBuffer a = pool.Allocate(8 * kMiB);
  PoolBuffer b = pool.Allocate(8 * kMiB);
  TestWaiter first;
  TestWaiter middle;
  TestWaiter last;
  pool.WaitFor(kMiB, &first);
  pool.WaitFor(kMiB, &middle);
  pool.WaitFor(kMiB, &last);
  pool.Forget(&middle);
  a.Release();
  EXPECT_EQ(first.calls, 1);
  pool.Forget(&first);  // its connection died
  EXPECT_EQ(last.calls, 1);
  EXPECT_EQ(middle.calls, 0);
  pool.Forget(&last);
  pool.Forget(&last);
  EXPECT_FALSE(pool.has_waiters());
  EXPECT_TRUE(pool.Allocate(kMiB));
}

TEST(BufferPoolTest, WaitingAgainKeepsThePlace) {
  BufferPool pool(16 * kMiB);
  PoolBuffer a = pool.Allocate(8 * kMiB);
  PoolBuffer b = pool.Allocate(8 * kMiB);
  TestWaiter first;
  TestWaiter second;
  pool.WaitFor(kMiB, &first);
  pool.WaitFor(kMiB, &second);
  pool.WaitFor(16 * kMiB / 2, &first);
  a.Release();
  EXPECT_EQ(first.calls, 1);
  EXPECT_EQ(second.calls, 0);
  pool.Forget(&first);
  pool.Forget(&second);
}

TEST(BufferPoolTest, RandomUseKeepsTheAccounts) {
  BufferPool pool(16 * kMiB);
  std::mt19937 random(1);
  std::vector<PoolBuffer> held;
  size_t expected = 0;
  for (int i = 0; i < 20000; ++i) {
    if (random() % 2 == 0 || held.empty()) {
      const size_t size = 1 + random() % (size_t{1} << (random() % 24));
      PoolBuffer buffer = pool.Allocate(size);
      if (!buffer) continue;
      EXPECT_GE(buffer.capacity_bytes(), size);
      std::memset(buffer.data(), i, size < 64 ? size : 64);
      expected += buffer.capacity_bytes();
      held.push_back(std::move(buffer));
    } else {
      std::swap(held[random() % held.size()], held.back());
      expected -= held.back().capacity_bytes();
      held.pop_back();
    }
    ASSERT_EQ(pool.in_use_bytes(), expected);
    ASSERT_LE(pool.in_use_bytes() + pool.cached_bytes(), pool.limit_bytes());
  }
}

}  // namespace
}  // namespace vof
