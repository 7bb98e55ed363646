// SPDX-License-Identifier: Apache-2.0
//
// Deadlines in order: a binary heap of nodes that live in their owners.
//
//   struct Entry : TimerNode { ... };
//   heap.Set(&entry, deadline);           // adds or moves
//   while (TimerNode* node = heap.PopDue(now)) ...
//   heap.Remove(&entry);                  // before it is destroyed
//
// Set, Remove and PopDue are O(log n), Earliest is a load. One thread.
#ifndef VOF_CORE_RUNTIME_TIMER_HEAP_H_
#define VOF_CORE_RUNTIME_TIMER_HEAP_H_

#include <cstddef>
#include <limits>
#include <vector>

#include "core/base/time.h"

namespace vof {

class TimerNode {
 public:
  MonotonicTime when() const { return when_; }
  bool scheduled() const { return index_ != kNowhere; }

 private:
  friend class TimerHeap;
  static constexpr size_t kNowhere = std::numeric_limits<size_t>::max();
  MonotonicTime when_ = kInfiniteFuture;
  size_t index_ = kNowhere;
};

class TimerHeap {
 public:
  MonotonicTime Earliest() const { return heap_.empty() ? kInfiniteFuture : heap_[0]->when_; }
  size_t size() const { return heap_.size(); }

  void Set(TimerNode* node, MonotonicTime when) {
    node->when_ = when;
    if (!node->scheduled()) {
      node->index_ = heap_.size();
      heap_.push_back(node);
    }
    SiftDown(SiftUp(node->index_));
  }

  void Remove(TimerNode* node) {
    if (!node->scheduled()) return;
    const size_t hole = node->index_;
    TimerNode* last = heap_.back();
    heap_.pop_back();
    node->index_ = TimerNode::kNowhere;
    node->when_ = kInfiniteFuture;
    if (last == node) return;
    Place(last, hole);
    SiftDown(SiftUp(hole));
  }

  // Takes out the earliest node when it is due; null otherwise.
  TimerNode* PopDue(MonotonicTime now) {
    if (heap_.empty() || heap_[0]->when_ > now) return nullptr;
    TimerNode* node = heap_[0];
    Remove(node);
    return node;
  }

 private:
  void Place(TimerNode* node, size_t index) {
    heap_[index] = node;
    node->index_ = index;
  }

  size_t SiftUp(size_t index) {
    TimerNode* node = heap_[index];
    while (index > 0) {
      const size_t parent = (index - 1) / 2;
      if (heap_[parent]->when_ <= node->when_) break;
      Place(heap_[parent], index);
      index = parent;
    }
    Place(node, index);
    return index;
  }

  void SiftDown(size_t index) {
    TimerNode* node = heap_[index];
    for (;;) {
      size_t child = 2 * index + 1;
      if (child >= heap_.size()) break;
      if (child + 1 < heap_.size() && heap_[child + 1]->when_ < heap_[child]->when_) ++child;
      if (heap_[child]->when_ >= node->when_) break;
      Place(heap_[child], index);
      index = child;
    }
    Place(node, index);
  }

  std::vector<TimerNode*> heap_;
};

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_TIMER_HEAP_H_
