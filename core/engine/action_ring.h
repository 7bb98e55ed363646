// SPDX-License-Identifier: Apache-2.0
//
// Actions of a message engine, from the moment they are decided until the channel has taken them.
//
//   if (ring.room() >= 2) { ring.Push(store); ring.Push(send); }
//   std::span<const MessageAction> pending = ring.pending();
//   ring.Pop(posted);
//
// Bounded; nothing allocates after construction. One thread.
#ifndef VOF_CORE_ENGINE_ACTION_RING_H_
#define VOF_CORE_ENGINE_ACTION_RING_H_

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "core/base/check.h"
#include "core/engine/message_engine.h"

namespace vof {

class ActionRing {
 public:
  explicit ActionRing(size_t capacity) : ring_(capacity) {}

  bool empty() const { return size_ == 0; }
  size_t room() const { return ring_.size() - size_; }
  // The next place, cleared; to be filled in at once.
  MessageAction& Push(ActionKind kind, uint64_t tag) {
    DebugCheck(room() > 0, "an action is pushed when there is room");
    MessageAction& action = ring_[(first_ + size_++) % ring_.size()];
    action.kind = kind;
    action.tag = tag;
    action.local = {};
    action.remote = {};
    return action;
  }
  // In order; the part up to the wrap. Ask again after Pop.
  std::span<const MessageAction> pending() const {
    return {ring_.data() + first_, std::min(size_, ring_.size() - first_)};
  }
  void Pop(size_t count) {
    first_ = (first_ + count) % ring_.size();
    size_ -= count;
  }
  void Clear() { first_ = size_ = 0; }

 private:
  std::vector<MessageAction> ring_;
  size_t first_ = 0, size_ = 0;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_ACTION_RING_H_
