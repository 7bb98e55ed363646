// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/timer_heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace vof {
namespace {

TEST(TimerHeapTest, PopsInOrderOnlyWhatIsDue) {
  TimerHeap heap;
  TimerNode a;
  TimerNode b;
  EXPECT_EQ(heap.Earliest(), kInfiniteFuture);
  heap.Set(&a, 20);
  heap.Set(&b, 10);
  EXPECT_EQ(heap.Earliest(), 10);
  EXPECT_EQ(heap.PopDue(9), nullptr);
  EXPECT_EQ(heap.PopDue(10), &b);
  EXPECT_FALSE(b.scheduled());
  EXPECT_EQ(heap.PopDue(15), nullptr);
  EXPECT_EQ(heap.PopDue(100), &a);
  EXPECT_EQ(heap.PopDue(100), nullptr);
}

TEST(TimerHeapTest, RemoveIsIdempotent) {
  TimerHeap heap;
  TimerNode node;
  heap.Remove(&node);
  heap.Set(&node, 5);
  heap.Remove(&node);
  heap.Remove(&node);
  EXPECT_EQ(heap.size(), 0u);
}

TEST(TimerHeapTest, AgreesWithAModel) {
  constexpr size_t kNodes = 60;
  std::mt19937 random(3);
  TimerHeap heap;
  std::vector<TimerNode> nodes(kNodes);
  std::vector<MonotonicTime> model(kNodes, kInfiniteFuture);
  for (int i = 0; i < 50'000; ++i) {
    const size_t n = random() % kNodes;
    const auto when = static_cast<MonotonicTime>(random() % 1000);
    switch (random() % 3) {
      case 0:
        heap.Set(&nodes[n], when);
        model[n] = when;
        break;
      case 1:
        heap.Remove(&nodes[n]);
        model[n] = kInfiniteFuture;
        break;
      default:
        if (TimerNode* due = heap.PopDue(when)) {
          const auto index = static_cast<size_t>(due - nodes.data());
          ASSERT_EQ(model[index], *std::min_element(model.begin(), model.end()));
          ASSERT_LE(model[index], when);
          model[index] = kInfiniteFuture;
        } else {
          ASSERT_GT(*std::min_element(model.begin(), model.end()), when);
        }
    }
    ASSERT_EQ(heap.Earliest(), *std::min_element(model.begin(), model.end()));
  }
}

}  // namespace
}  // namespace vof
