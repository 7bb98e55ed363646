// SPDX-License-Identifier: Apache-2.0
//
// For tests of message engines: joins two of them without a fabric, and carries out what they post
// on the memory of this process.
//
//   TestMemory memory;                               // every address is registered
//   MessageWire wire(&initiator, &target);
//   while (wire.Pump(now)) {}
//   wire.Cut(now);
//
// Posts take effect in order when they are taken; their events come with the next turns, or those
// of completions when a test lets them (holds_completions). A send
// without a posted receive fails the test: a receiver is never not ready. Remote keys are checked
// against `memory`.
#ifndef VOF_CORE_ENGINE_TESTING_MESSAGE_WIRE_H_
#define VOF_CORE_ENGINE_TESTING_MESSAGE_WIRE_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/engine/message_engine.h"
#include "core/transport/region_map.h"
#include "gtest/gtest.h"

namespace vof {

// A region over all of the address space, or over chosen ranges.
class TestMemory {
 public:
  static constexpr uint32_t kKey = 0x5eed;
  RegionMap regions;

  void AddAll() { Add({reinterpret_cast<std::byte*>(uintptr_t{4096}), size_t{1} << 47}); }
  void Add(MutableBuffer bytes) {
    regions.Add(Region(bytes,
                       {.local_key = this,
                        .remote_key = kKey,
                        .remote_address = reinterpret_cast<uintptr_t>(bytes.data)},
                       nullptr));
  }
};

class MessageWire {
 public:
  MessageWire(MessageEngine* first, MessageEngine* second) : ends_{End(first), End(second)} {}

  size_t events_per_turn = 64;
  bool holds_completions[2] = {false, false};  // at that end: only messages are reported
  int64_t sends = 0, fetches = 0, stores = 0;
  // Told of each fetch and store, of each store; may be empty.
  std::function<void(const RemoteBuffer&)> on_remote_access;
  std::function<void(const LocalBuffer&)> on_store_from;

  // A turn of both ends. True when something moved.
  bool Pump(MonotonicTime now) {
    bool moved = false;
    for (int i = 0; i < 2; ++i) moved |= Turn(ends_[i], ends_[1 - i], now);
    return moved;
  }
  // The fabric breaks: both ends are told when nothing is outstanding any more.
  void Cut(MonotonicTime now, CloseReason reason = CloseReason::kPeerClosed) {
    for (End& end : ends_) {
      if (std::exchange(end.closed, true)) continue;
      end.events.clear();
      end.engine->OnClosed(reason, 0, now);
      while (end.engine->Advance(now)) {
      }
    }
  }
  bool closed(int end) const { return ends_[end].closed; }

 private:
  struct End {
    explicit End(MessageEngine* e) : engine(e) {}
    MessageEngine* engine;
    std::deque<ChannelEvent> events;
    std::map<uint64_t, std::vector<std::byte>> receives;  // messages held by the engine, by tag
    uint64_t next_tag = 1;
    bool closed = false;
  };

  bool Turn(End& end, End& peer, MonotonicTime now) {
    MessageEngine& engine = *end.engine;
    if (end.closed) return !engine.finished() && engine.Advance(now);
    const std::vector<ChannelEvent> events = TakeEvents(end);
    bool moved = !events.empty();
    if (moved) engine.OnEvents(events, now);
    if (now >= engine.NextDeadline()) engine.OnTimer(now);
    moved |= engine.Advance(now);
    for (auto actions = engine.PendingActions(); !actions.empty();
         actions = engine.PendingActions()) {
      for (const MessageAction& action : actions) Execute(action, end, peer);
      engine.OnPosted(actions.size());
      moved = true;
    }
    const bool flushed = !engine.flush_before_close() || !engine.has_output();
    if (engine.wants_close() && flushed) {
      Deliver(peer, now);
      Cut(now, CloseReason::kLocal);
      moved = true;
    }
    return moved;
  }

  std::vector<ChannelEvent> TakeEvents(End& end) {
    std::vector<ChannelEvent> events;
    const bool holds = holds_completions[&end - ends_];
    for (auto it = end.events.begin(); it != end.events.end() && events.size() < events_per_turn;) {
      if (holds && it->kind != ChannelEventKind::kReceived) {
        ++it;
      } else {
        events.push_back(*it);
        it = end.events.erase(it);
      }
    }
    return events;
  }

  // What was sent before the end arrives before the end.
  static void Deliver(End& end, MonotonicTime now) {
    if (end.closed || end.events.empty()) return;
    const std::vector<ChannelEvent> events(end.events.begin(), end.events.end());
    end.events.clear();
    end.engine->OnEvents(events, now);
  }

  void Execute(const MessageAction& action, End& end, End& peer) {
    ChannelEvent done;
    done.ok = true;
    done.tag = action.tag;
    auto* remote =
        reinterpret_cast<std::byte*>(action.remote.address);  // NOLINT(performance-no-int-to-ptr)
    const bool own = action.local.size_bytes <= kMinInlineBytes;
    EXPECT_TRUE(own || action.local.local_key != nullptr) << "unregistered local memory";
    switch (action.kind) {
      case ActionKind::kReturnReceive:
        EXPECT_EQ(end.receives.erase(action.tag), 1u);
        return;
      case ActionKind::kSend:
        ++sends;
        done.kind = ChannelEventKind::kSent;
        Arrive({action.local.data, action.local.size_bytes}, peer);
        break;
      case ActionKind::kFetch:
        ++fetches;
        CheckRemote(action);
        if (on_remote_access) on_remote_access(action.remote);
        done.kind = ChannelEventKind::kFetched;
        std::memcpy(action.local.data, remote, action.remote.size_bytes);
        break;
      case ActionKind::kStore:
        ++stores;
        CheckRemote(action);
        if (on_store_from) on_store_from(action.local);
        if (on_remote_access) on_remote_access(action.remote);
        done.kind = ChannelEventKind::kStored;
        std::memcpy(remote, action.local.data, action.remote.size_bytes);
        break;
    }
    end.events.push_back(done);
  }

  static void CheckRemote(const MessageAction& action) {
    EXPECT_EQ(action.remote.key, TestMemory::kKey);
    EXPECT_EQ(action.remote.size_bytes, action.local.size_bytes);
    EXPECT_GT(action.remote.size_bytes, 0u);
  }

  static void Arrive(std::span<const std::byte> message, End& peer) {
    if (peer.closed) return;
    EXPECT_LT(peer.receives.size(), static_cast<size_t>(peer.engine->receive_depth()))
        << "receiver not ready: " << peer.engine->Describe();
    EXPECT_LE(message.size(), kMaxMessageBytes);
    const uint64_t tag = peer.next_tag++;
    auto& place = peer.receives[tag];
    place.assign(message.begin(), message.end());
    ChannelEvent event;
    event.kind = ChannelEventKind::kReceived;
    event.ok = true;
    event.tag = tag;
    event.message = place;
    peer.events.push_back(event);
  }

  End ends_[2];
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_TESTING_MESSAGE_WIRE_H_
