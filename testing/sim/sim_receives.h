// SPDX-License-Identifier: Apache-2.0
//
// The receives of one end of the simulated fabric: posted late, filled in order, held by the
// engine, garbled when they are given back.
//
//   receives.Grow(count, available_at);
//   if (receives.HasPosted(now)) receives.Fill(message, now, arrives_at);
//   if (receives.HasArrived(now)) receives.Take(&event);
//   receives.Return(event.tag, available_at);
//
// One thread.
#ifndef VOF_TESTING_SIM_SIM_RECEIVES_H_
#define VOF_TESTING_SIM_SIM_RECEIVES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "core/base/limits.h"
#include "core/base/time.h"
#include "core/transport/message_channel.h"

namespace vof {

class SimReceives {
 public:
  static constexpr uint32_t kMaxBytes = kMaxMessageBytes;

  int depth() const { return static_cast<int>(slots_.size()); }
  // Given to the fabric by the engine; the adapter may learn of some of them later.
  int num_posted() const { return static_cast<int>(posted_.size()); }
  bool HasPosted(MonotonicTime now) const {
    return !posted_.empty() && posted_.front().available_at <= now;
  }
  // When the next one is there for a message; kInfiniteFuture: none was posted.
  MonotonicTime NextPosted() const {
    return posted_.empty() ? kInfiniteFuture : posted_.front().available_at;
  }

  void Grow(int count, MonotonicTime available_at) {
    while (depth() < count) {
      slots_.push_back(std::make_unique<Slot>());
      Post(slots_.size() - 1, available_at);
    }
  }
  // False: it was not held.
  bool Return(uint64_t tag, MonotonicTime available_at) {
    if (tag >= slots_.size() || !slots_[tag]->held) return false;
    Slot& slot = *slots_[tag];
    slot.held = false;
    // Whoever kept a pointer to the message finds garbage there.
    std::fill(slot.bytes.begin(), slot.bytes.end(), std::byte{0xdb});
    Post(tag, available_at);
    return true;
  }

  // HasPosted() says yes.
  void Fill(std::span<const std::byte> message, const uint32_t* immediate,
            MonotonicTime arrives_at) {
    const uint64_t tag = posted_.front().tag;
    posted_.pop_front();
    Slot& slot = *slots_[tag];
    slot.bytes.assign(message.begin(), message.end());
    slot.has_immediate = immediate != nullptr;
    slot.immediate = slot.has_immediate ? *immediate : 0;
    const MonotonicTime before = arrived_.empty() ? 0 : arrived_.back().available_at;
    arrived_.push_back({tag, std::max(before, arrives_at)});
  }
  MonotonicTime NextArrival() const {
    return arrived_.empty() ? kInfiniteFuture : arrived_.front().available_at;
  }
  bool any_arrived() const { return !arrived_.empty(); }
  // NextArrival() has come.
  void Take(ChannelEvent* event) {
    const uint64_t tag = arrived_.front().tag;
    arrived_.pop_front();
    Slot& slot = *slots_[tag];
    slot.held = true;
    *event = {};
    event->kind = ChannelEventKind::kReceived;
    event->ok = true;
    event->tag = tag;
    event->message = slot.bytes;
    event->has_immediate = slot.has_immediate;
    event->immediate = slot.immediate;
  }
  // What arrived and was not taken.
  void DropArrived() { arrived_.clear(); }

 private:
  struct Slot {
    std::vector<std::byte> bytes;
    bool has_immediate = false;
    uint32_t immediate = 0;
    bool held = false;
  };
  struct Place {
    uint64_t tag = 0;
    MonotonicTime available_at = 0;
  };

  void Post(uint64_t tag, MonotonicTime available_at) {
    const MonotonicTime before = posted_.empty() ? 0 : posted_.back().available_at;
    posted_.push_back({tag, std::max(before, available_at)});
  }

  std::vector<std::unique_ptr<Slot>> slots_;
  std::deque<Place> posted_;
  std::deque<Place> arrived_;
};

}  // namespace vof

#endif  // VOF_TESTING_SIM_SIM_RECEIVES_H_
