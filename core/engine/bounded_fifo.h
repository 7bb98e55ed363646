// SPDX-License-Identifier: Apache-2.0
//
// First in, first out, with a capacity that is fixed when it is known.
//
//   BoundedFifo<Message> held;
//   held.Reserve(receive_depth);
//   if (!held.full()) held.Push(message);
//
// Nothing allocates after Reserve. One thread.
#ifndef VOF_CORE_ENGINE_BOUNDED_FIFO_H_
#define VOF_CORE_ENGINE_BOUNDED_FIFO_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "core/base/check.h"

namespace vof {

template <typename T>
class BoundedFifo {
 public:
  // While it is empty.
  void Reserve(size_t capacity) { items_.resize(capacity); }

  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == items_.size(); }
  size_t size() const { return size_; }
  T& front() { return items_[first_]; }
  void Push(T item) {
    DebugCheck(!full(), "a bounded queue has room");
    items_[(first_ + size_++) % items_.size()] = std::move(item);
  }
  void Pop() {
    first_ = (first_ + 1) % items_.size();
    --size_;
  }
  void Clear() { first_ = size_ = 0; }

 private:
  std::vector<T> items_;
  size_t first_ = 0, size_ = 0;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_BOUNDED_FIFO_H_
