// SPDX-License-Identifier: Apache-2.0
//
// One end of a message channel as tests drive it: registered memory, a log of events, and the
// bookkeeping of who owns which post.
//
//   ChannelSide<C> a(pair.a.get(), pair.domain_a.get());
//   ASSERT_TRUE(a.Send({a.Local(0, 100)}, /*tag=*/7));         // posts again when told kAgain
//   ASSERT_TRUE(PumpUntil(a, b, [&] { return b.messages.size() == 1; }));
//
// Nothing is expected to be there at once: fabrics take their time. Every side belongs to one
// thread.
#ifndef VOF_TESTING_CONFORMANCE_CHANNEL_HARNESS_H_
#define VOF_TESTING_CONFORMANCE_CHANNEL_HARNESS_H_

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <random>
#include <set>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/buffer.h"
#include "core/base/time.h"
#include "core/transport/domain.h"
#include "core/transport/message_channel.h"

namespace vof {

inline constexpr Nanoseconds kChannelPatience = 20 * kNanosecondsPerSecond;
inline constexpr size_t kArenaBytes = 256u << 10;

using Bytes = std::vector<std::byte>;

inline Bytes Pattern(size_t size_bytes, uint32_t seed) {
  std::mt19937 random(seed);
  Bytes bytes(size_bytes);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

// What a channel reported of a message.
struct Arrival {
  Bytes message;
  bool has_immediate = false;
  uint32_t immediate = 0;
};

template <MessageChannel C>
class ChannelSide {
 public:
  ChannelSide(C* c, Domain* domain, Access access = Access::kRemoteReadWrite)
      : channel(c), memory(kArenaBytes) {
    absl::StatusOr<Region> registered =
        domain->Register(MutableBuffer(memory.data(), memory.size()), access);
    EXPECT_TRUE(registered.ok()) << registered.status();
    if (registered.ok()) region = *std::move(registered);
  }

  LocalBuffer Local(size_t offset, size_t size_bytes) {
    return {memory.data() + offset, static_cast<uint32_t>(size_bytes), region.local_key()};
  }
  // As the peer names it.
  RemoteBuffer Remote(size_t offset, size_t size_bytes) const {
    return {region.RemoteAddress(memory.data() + offset), static_cast<uint32_t>(size_bytes),
            region.remote_key()};
  }
  void Fill(size_t offset, const Bytes& bytes) {
    std::copy(bytes.begin(), bytes.end(), memory.begin() + static_cast<ptrdiff_t>(offset));
  }
  Bytes Read(size_t offset, size_t size_bytes) const {
    const auto begin = memory.begin() + static_cast<ptrdiff_t>(offset);
    return Bytes(begin, begin + static_cast<ptrdiff_t>(size_bytes));
  }

  // Posts and flushes, reaping while the send queue is full. False when the channel is closed.
  bool Send(std::initializer_list<LocalBuffer> local, uint64_t tag) {
    return Patiently(tag, [&] { return channel->PostSend(Span(local), tag); });
  }
  bool Fetch(std::initializer_list<LocalBuffer> local, const RemoteBuffer& remote, uint64_t tag) {
    return Patiently(tag, [&] { return channel->PostFetch(Span(local), remote, tag); });
  }
  bool Store(std::initializer_list<LocalBuffer> local, const RemoteBuffer& remote, uint64_t tag) {
    return Patiently(tag, [&] { return channel->PostStore(Span(local), remote, tag); });
  }
  bool StoreWithImmediate(std::initializer_list<LocalBuffer> local, const RemoteBuffer& remote,
                          uint32_t immediate, uint64_t tag) {
    return Patiently(
        tag, [&] { return channel->PostStoreWithImmediate(Span(local), remote, immediate, tag); });
  }
  // One more post, with the lowest tag above those outstanding; again when told kAgain, which some
  // fabrics say for no reason.
  template <typename PostCall>
  void PostWithoutFlush(PostCall post) {
    const uint64_t tag = outstanding.empty() ? 1 : *outstanding.rbegin() + 1;
    PostStatus status = PostStatus::kAgain;
    for (int i = 0; i < 1000 && status == PostStatus::kAgain; ++i) status = post(tag);
    EXPECT_EQ(status, PostStatus::kOk);
    Owns(tag);
  }
  // For posts that a test makes itself: the channel owns `tag` from now on.
  void Owns(uint64_t tag) {
    EXPECT_TRUE(outstanding.insert(tag).second) << "tag " << tag << " is used twice";
  }

  // Takes what there is; true when that was something.
  bool Reap() {
    std::array<ChannelEvent, 4> events;
    const std::span<ChannelEvent> got = channel->Reap(events);
    for (const ChannelEvent& event : got) Handle(event);
    return !got.empty();
  }
  // Sleeps until there may be an event, as a reactor does; 1 s at most.
  void Sleep() {
    if (!channel->Arm()) return;
    if (channel->wait_fd() < 0) {
      std::this_thread::yield();
      return;
    }
    pollfd fd{.fd = channel->wait_fd(), .events = POLLIN, .revents = 0};
    poll(&fd, 1, 1000);
  }
  void ReturnHeld() {
    for (const uint64_t tag : std::exchange(held, {})) channel->ReturnReceive(tag);
  }

  C* channel;
  Bytes memory;
  Region region;
  bool returns_receives = true;  // at once; else they stay in `held`
  std::function<void(const Arrival&)> on_arrival;
  // Driven as well while a post waits for room: some fabrics move only when both ends are. Null
  // when it belongs to another thread.
  ChannelSide* partner = nullptr;

  std::vector<Arrival> arrivals;
  std::vector<std::span<const std::byte>> held_messages;
  std::vector<uint64_t> held;
  std::vector<uint64_t> succeeded;  // tags, in order
  std::vector<uint64_t> failed;
  std::set<uint64_t> outstanding;
  int disconnects = 0;

 private:
  static std::span<const LocalBuffer> Span(std::initializer_list<LocalBuffer> local) {
    return {local.begin(), local.size()};
  }

  template <typename PostCall>
  bool Patiently(uint64_t tag, PostCall post) {
    const MonotonicTime give_up = DeadlineAfter(MonotonicNow(), kChannelPatience);
    for (;;) {
      const PostStatus status = post();
      if (status == PostStatus::kOk) Owns(tag);
      channel->Flush();
      if (status != PostStatus::kAgain) return status == PostStatus::kOk;
      if (MonotonicNow() > give_up) return false;
      Reap();
      if (partner != nullptr) partner->Reap();
    }
  }

  void Handle(const ChannelEvent& event) {
    EXPECT_EQ(disconnects, 0) << "an event behind kDisconnected";
    switch (event.kind) {
      case ChannelEventKind::kDisconnected:
        ++disconnects;
        return;
      case ChannelEventKind::kReceived:
        EXPECT_TRUE(event.ok);
        arrivals.push_back({Bytes(event.message.begin(), event.message.end()), event.has_immediate,
                            event.immediate});
        if (on_arrival) on_arrival(arrivals.back());
        if (returns_receives) {
          channel->ReturnReceive(event.tag);
        } else {
          held.push_back(event.tag);
          held_messages.push_back(event.message);
        }
        return;
      case ChannelEventKind::kSent:
      case ChannelEventKind::kFetched:
      case ChannelEventKind::kStored:
        EXPECT_EQ(outstanding.erase(event.tag), 1u) << "tag " << event.tag << " is not posted";
        (event.ok ? succeeded : failed).push_back(event.tag);
        return;
    }
  }
};

// Drives both ends until the condition holds; false after kChannelPatience.
template <MessageChannel C, typename Condition>
bool PumpUntil(ChannelSide<C>& a, ChannelSide<C>& b, Condition condition) {
  const MonotonicTime give_up = DeadlineAfter(MonotonicNow(), kChannelPatience);
  while (!condition()) {
    const bool a_moved = a.Reap();
    const bool b_moved = b.Reap();
    if (a_moved || b_moved) continue;
    if (MonotonicNow() > give_up) return false;
    std::this_thread::yield();
  }
  return true;
}

// Long enough for what must not happen to happen.
template <MessageChannel C>
void PumpAWhile(ChannelSide<C>& a, ChannelSide<C>& b) {
  const MonotonicTime end = DeadlineAfter(MonotonicNow(), Milliseconds(20));
  for (int turns = 0; turns < 50 || MonotonicNow() < end; ++turns) {
    a.Reap();
    b.Reap();
  }
}

}  // namespace vof

#endif  // VOF_TESTING_CONFORMANCE_CHANNEL_HARNESS_H_
