// SPDX-License-Identifier: Apache-2.0
//
// What every message channel promises while it works (core/transport/message_channel.h): order,
// contents, receives, ownership. message_channel_end_suite.h has what ends it.
//
//   INSTANTIATE_TYPED_TEST_SUITE_P(Fabric, MessageChannelTest, testing::Types<FabricPairMaker>);
//
// Makers are described in channel_pair.h.
#ifndef VOF_TESTING_CONFORMANCE_MESSAGE_CHANNEL_SUITE_H_
#define VOF_TESTING_CONFORMANCE_MESSAGE_CHANNEL_SUITE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <thread>
#include <vector>

#include "core/transport/message_channel.h"
#include "testing/conformance/channel_harness.h"
#include "testing/conformance/message_channel_fixture.h"

namespace vof {

TYPED_TEST_SUITE_P(MessageChannelTest);

TYPED_TEST_P(MessageChannelTest, NothingHappensByItself) {
  PumpAWhile(this->a(), this->b());
  EXPECT_TRUE(this->a().arrivals.empty() && this->b().arrivals.empty());
  EXPECT_EQ(this->a().disconnects + this->b().disconnects, 0);
  EXPECT_FALSE(this->pair_.a->drained()) << "it is not closed";
  EXPECT_FALSE(this->pair_.a->peer().address.empty());
}

TYPED_TEST_P(MessageChannelTest, CarriesMessagesOfEverySizeBothWays) {
  auto& a = this->a();
  auto& b = this->b();
  ASSERT_TRUE(a.channel->SetReceiveDepth(4).ok());
  ASSERT_TRUE(b.channel->SetReceiveDepth(4).ok());
  const size_t largest = this->limits().max_message_bytes;
  uint64_t tag = 0;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{16}, size_t{65}, largest - 1, largest}) {
    const Bytes to_b = Pattern(size, 1);
    const Bytes to_a = Pattern(size, 2);
    a.Fill(0, to_b);
    b.Fill(0, to_a);
    ++tag;
    ASSERT_TRUE(a.Send({a.Local(0, size)}, tag));
    ASSERT_TRUE(b.Send({b.Local(0, size)}, tag));
    ASSERT_TRUE(PumpUntil(a, b, [&] {
      return a.arrivals.size() == tag && b.arrivals.size() == tag && a.succeeded.size() == tag &&
             b.succeeded.size() == tag;
    })) << size;
    EXPECT_TRUE(b.arrivals.back().message == to_b) << size;
    EXPECT_TRUE(a.arrivals.back().message == to_a) << size;
    EXPECT_FALSE(b.arrivals.back().has_immediate);
  }
}

TYPED_TEST_P(MessageChannelTest, MessagesAndCompletionsKeepTheirOrder) {
  auto& a = this->a();
  auto& b = this->b();
  ASSERT_TRUE(b.channel->SetReceiveDepth(3).ok());
  constexpr uint64_t kMessages = 300;
  const size_t slots = kArenaBytes / sizeof(uint64_t);
  for (uint64_t tag = 0; tag < kMessages; ++tag) {
    const size_t at = tag % slots * sizeof(tag);
    std::memcpy(a.memory.data() + at, &tag, sizeof(tag));
    ASSERT_TRUE(a.Send({a.Local(at, sizeof(tag))}, tag));
  }
  ASSERT_TRUE(PumpUntil(
      a, b, [&] { return b.arrivals.size() == kMessages && a.succeeded.size() == kMessages; }));
  for (uint64_t i = 0; i < kMessages; ++i) {
    uint64_t number = 0;
    ASSERT_EQ(b.arrivals[i].message.size(), sizeof(number));
    std::memcpy(&number, b.arrivals[i].message.data(), sizeof(number));
    ASSERT_EQ(number, i);
    ASSERT_EQ(a.succeeded[i], i);
  }
}

TYPED_TEST_P(MessageChannelTest, StoresAreThereWhenALaterMessageArrives) {
  auto& a = this->a();
  auto& b = this->b();
  ASSERT_TRUE(b.channel->SetReceiveDepth(2).ok());
  constexpr size_t kStored = 20'000;
  constexpr uint32_t kRounds = 40;
  uint32_t round = 0;
  int wrong = 0;
  b.on_arrival = [&](const Arrival&) { wrong += b.Read(100, kStored) != Pattern(kStored, round); };
  for (; round < kRounds; ++round) {
    a.Fill(0, Pattern(kStored, round));
    ASSERT_TRUE(a.Store({a.Local(0, kStored)}, b.Remote(100, kStored), 2 * round));
    ASSERT_TRUE(a.Send({a.Local(kStored, 8)}, 2 * round + 1));
    ASSERT_TRUE(
        PumpUntil(a, b, [&] { return b.arrivals.size() == round + 1 && a.outstanding.empty(); }));
  }
  EXPECT_EQ(wrong, 0);
}

// However few completions the fabric was asked for.
TYPED_TEST_P(MessageChannelTest, WhatIsFlushedTogetherIsReportedOneByOne) {
  auto& a = this->a();
  auto& b = this->b();
  constexpr size_t kPostsOfRound = 5, kBytes = 2000;
  const size_t rounds =
      std::min<size_t>(8, static_cast<size_t>(this->limits().send_depth) / kPostsOfRound);
  if (rounds == 0) GTEST_SKIP() << "the send queue is shorter";
  ASSERT_TRUE(b.channel->SetReceiveDepth(static_cast<int>(rounds) + 1).ok());
  const Bytes ours = Pattern(rounds * kBytes, 1), theirs = Pattern(rounds * kBytes, 2);
  const size_t fetched = ours.size(), stored = theirs.size();
  a.Fill(0, ours);
  b.Fill(0, theirs);
  for (size_t at = 0; at < ours.size(); at += kBytes) {
    const LocalBuffer from = a.Local(at, kBytes), to = a.Local(fetched + at, kBytes);
    const LocalBuffer small = a.Local(at, 9), none = a.Local(at, 0);
    const RemoteBuffer place = b.Remote(stored + at, kBytes), source = b.Remote(at, kBytes);
    a.PostWithoutFlush([&](uint64_t tag) { return a.channel->PostStore({&from, 1}, place, tag); });
    a.PostWithoutFlush([&](uint64_t tag) { return a.channel->PostFetch({&to, 1}, source, tag); });
    a.PostWithoutFlush([&](uint64_t tag) { return a.channel->PostSend({&small, 1}, tag); });
    if (at / kBytes % 4 != 1) continue;
    a.PostWithoutFlush([&](uint64_t tag) { return a.channel->PostStore({&none, 1}, {}, tag); });
    a.PostWithoutFlush([&](uint64_t tag) { return a.channel->PostFetch({&none, 1}, {}, tag); });
  }
  const std::vector<uint64_t> posted(a.outstanding.begin(), a.outstanding.end());
  a.channel->Flush();
  ASSERT_TRUE(
      PumpUntil(a, b, [&] { return a.outstanding.empty() && b.arrivals.size() == rounds; }));
  EXPECT_EQ(a.succeeded, posted);
  EXPECT_EQ(a.Read(fetched, theirs.size()), theirs);
  EXPECT_EQ(b.Read(stored, ours.size()), ours);
}

TYPED_TEST_P(MessageChannelTest, FlushingTwiceMovesOnce) {
  auto& a = this->a();
  auto& b = this->b();
  ASSERT_TRUE(b.channel->SetReceiveDepth(2).ok());
  const LocalBuffer local = a.Local(0, 8);
  a.PostWithoutFlush([&](uint64_t tag) { return a.channel->PostSend({&local, 1}, tag); });
  ASSERT_FALSE(this->HasFailure());
  a.channel->Flush();
  a.channel->Flush();
  ASSERT_TRUE(PumpUntil(a, b, [&] { return a.succeeded.size() == 1 && b.arrivals.size() == 1; }));
  PumpAWhile(a, b);
  EXPECT_EQ(b.arrivals.size(), 1u);
}

TYPED_TEST_P(MessageChannelTest, StoreAndFetchMoveScatteredMemory) {
  auto& a = this->a();
  auto& b = this->b();
  constexpr size_t kBytes = 5000;
  for (size_t pieces = 1; pieces <= this->segments(); ++pieces) {
    const std::vector<LocalBuffer> from = this->Pieces(a, pieces, kBytes);
    a.Fill(0, Pattern(20'000, static_cast<uint32_t>(pieces)));
    const Bytes expected = this->ReadPieces(from);
    PostStatus status = PostStatus::kAgain;
    while (status == PostStatus::kAgain) {
      status = a.channel->PostStore(from, b.Remote(300, kBytes), pieces);
    }
    a.Owns(pieces);
    a.channel->Flush();
    ASSERT_TRUE(PumpUntil(a, b, [&] { return a.outstanding.empty(); }));
    // A store that is complete at this side may still be under way: fetch comes behind it.
    std::fill(a.memory.begin(), a.memory.end(), std::byte{0});
    status = PostStatus::kAgain;
    while (status == PostStatus::kAgain) {
      status = a.channel->PostFetch(from, b.Remote(300, kBytes), 1000 + pieces);
    }
    a.Owns(1000 + pieces);
    a.channel->Flush();
    ASSERT_TRUE(PumpUntil(a, b, [&] { return a.outstanding.empty(); }));
    ASSERT_TRUE(a.failed.empty());
    EXPECT_TRUE(b.Read(300, kBytes) == expected) << pieces << " pieces stored";
    EXPECT_TRUE(this->ReadPieces(from) == expected) << pieces << " pieces fetched";
    const LocalBuffer& last = from.back();
    EXPECT_EQ(last.data[last.size_bytes], std::byte{0}) << "wrote beyond the end";
  }
}

TYPED_TEST_P(MessageChannelTest, FetchesComeBackInOrderOfPosting) {
  auto& a = this->a();
  auto& b = this->b();
  constexpr size_t kPiece = 3000;
  constexpr size_t kFetches = 60;
  const Bytes there = Pattern(kPiece * kFetches, 3);
  b.Fill(0, there);
  for (uint64_t i = 0; i < kFetches; ++i) {
    ASSERT_TRUE(a.Fetch({a.Local(i * kPiece, kPiece)}, b.Remote(i * kPiece, kPiece), i));
  }
  ASSERT_TRUE(PumpUntil(a, b, [&] { return a.outstanding.empty(); }));
  EXPECT_TRUE(a.Read(0, there.size()) == there);
  EXPECT_TRUE(std::is_sorted(a.succeeded.begin(), a.succeeded.end()));
  EXPECT_EQ(a.succeeded.size(), kFetches);
}

TYPED_TEST_P(MessageChannelTest, MessageWaitsForAReceive) {
  auto& a = this->a();
  auto& b = this->b();
  b.returns_receives = false;
  ASSERT_TRUE(a.Send({a.Local(0, 10)}, 1));
  PumpAWhile(a, b);
  EXPECT_TRUE(a.failed.empty()) << "it waits, it does not fail";
  EXPECT_TRUE(b.arrivals.empty());
  ASSERT_TRUE(b.channel->SetReceiveDepth(2).ok());
  ASSERT_TRUE(PumpUntil(a, b, [&] { return b.arrivals.size() == 1 && a.outstanding.empty(); }));

  ASSERT_TRUE(a.Send({a.Local(0, 20)}, 2));
  ASSERT_TRUE(a.Send({a.Local(0, 30)}, 3));
  PumpAWhile(a, b);
  EXPECT_EQ(b.arrivals.size(), 2u) << "both receives are in our hands";
  EXPECT_TRUE(a.failed.empty());
  b.ReturnHeld();
  ASSERT_TRUE(PumpUntil(a, b, [&] { return b.arrivals.size() == 3 && a.outstanding.empty(); }));
  EXPECT_EQ(b.arrivals[2].message.size(), 30u);
  EXPECT_TRUE(a.failed.empty());
}

TYPED_TEST_P(MessageChannelTest, WhatIsBehindAWaitingMessageWaitsToo) {
  if (!TypeParam::kMessagesHoldBack) GTEST_SKIP() << "the fabric keeps messages elsewhere";
  auto& a = this->a();
  auto& b = this->b();
  a.Fill(0, Bytes(100, std::byte{7}));
  ASSERT_TRUE(a.Send({a.Local(0, 10)}, 1));
  ASSERT_TRUE(a.Store({a.Local(0, 100)}, b.Remote(0, 100), 2));
  PumpAWhile(a, b);
  EXPECT_TRUE(b.Read(0, 100) == Bytes(100)) << "the store overtook the message";
  ASSERT_TRUE(b.channel->SetReceiveDepth(1).ok());
  ASSERT_TRUE(PumpUntil(a, b, [&] { return a.outstanding.empty() && b.arrivals.size() == 1; }));
  EXPECT_TRUE(b.Read(0, 100) == Bytes(100, std::byte{7}));
}

TYPED_TEST_P(MessageChannelTest, HeldReceivesKeepTheirBytes) {
  auto& a = this->a();
  auto& b = this->b();
  constexpr int kHeld = 5;
  ASSERT_TRUE(b.channel->SetReceiveDepth(kHeld).ok());
  ASSERT_TRUE(b.channel->SetReceiveDepth(2).ok()) << "grows only";
  b.returns_receives = false;
  const size_t size = this->message_bytes();
  for (uint32_t i = 0; i < kHeld; ++i) {
    a.Fill(0, Pattern(size, i));
    ASSERT_TRUE(a.Send({a.Local(0, size)}, i));
    ASSERT_TRUE(PumpUntil(a, b, [&] { return b.held.size() == i + 1 && a.outstanding.empty(); }));
  }
  ASSERT_TRUE(b.channel->SetReceiveDepth(kHeld + 40).ok());
  for (uint32_t i = 0; i < kHeld; ++i) {
    const std::span<const std::byte> message = b.held_messages[i];
    EXPECT_TRUE(Bytes(message.begin(), message.end()) == Pattern(size, i)) << i;
  }
  b.ReturnHeld();
}

TYPED_TEST_P(MessageChannelTest, FullSendQueueIsAgainAndRecovers) {
  auto& a = this->a();
  auto& b = this->b();
  const LocalBuffer local = a.Local(0, 8);
  uint64_t posted = 0;
  int again = 0;
  while (again < 20 && posted < 1'000'000) {
    if (a.channel->PostSend(std::span<const LocalBuffer>(&local, 1), posted) == PostStatus::kOk) {
      a.Owns(posted++);
      again = 0;
    } else {
      ++again;
    }
  }
  ASSERT_GT(posted, 0u);
  ASSERT_LE(posted, static_cast<uint64_t>(this->limits().send_depth));
  a.channel->Flush();
  ASSERT_TRUE(b.channel->SetReceiveDepth(4).ok());
  ASSERT_TRUE(PumpUntil(a, b, [&] { return a.outstanding.empty(); }));
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(a.Send({local}, 1'000'000 + i));
  ASSERT_TRUE(
      PumpUntil(a, b, [&] { return a.outstanding.empty() && b.arrivals.size() == posted + 100; }));
  EXPECT_TRUE(a.failed.empty());
}

// Two pieces without local keys, in memory that was never registered.
TYPED_TEST_P(MessageChannelTest, InlinePostsAreCopiedWhenPosted) {
  const uint32_t size = this->limits().inline_bytes;
  ASSERT_GE(size, 64u);
  auto& a = this->a();
  auto& b = this->b();
  ASSERT_TRUE(b.channel->SetReceiveDepth(2).ok());
  Bytes bytes = Pattern(size, 4);
  const Bytes original = bytes;
  std::vector<LocalBuffer> local = {{bytes.data(), size, nullptr}};
  if (this->limits().max_local_segments > 1) {
    local = {{bytes.data(), 1, nullptr}, {bytes.data() + 1, size - 1, nullptr}};
  }
  const auto post = [&](uint64_t tag) {
    return tag == 1 ? a.channel->PostStore(local, b.Remote(3, size), tag)
                    : a.channel->PostSend(local, tag);
  };
  for (const uint64_t tag : {1, 2}) {
    PostStatus status = PostStatus::kAgain;
    while (status == PostStatus::kAgain) status = post(tag);
    ASSERT_EQ(status, PostStatus::kOk);
    a.Owns(tag);
  }
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  a.channel->Flush();
  ASSERT_TRUE(PumpUntil(a, b, [&] { return b.arrivals.size() == 1 && a.outstanding.empty(); }));
  EXPECT_TRUE(a.failed.empty());
  EXPECT_TRUE(b.arrivals[0].message == original);
  EXPECT_TRUE(b.Read(3, size) == original);
}

TYPED_TEST_P(MessageChannelTest, ImmediateTakesAReceiveBehindItsStore) {
  if (!this->limits().has_immediate) GTEST_SKIP() << "no immediate";
  auto& a = this->a();
  auto& b = this->b();
  bool there = false;
  b.on_arrival = [&](const Arrival&) { there = b.Read(64, 5000) == Bytes(5000, std::byte{9}); };
  a.Fill(0, Bytes(5000, std::byte{9}));
  ASSERT_TRUE(a.StoreWithImmediate({a.Local(0, 5000)}, b.Remote(64, 5000), 0xfeedbeef, 1));
  PumpAWhile(a, b);
  if (TypeParam::kImmediateTakesReceive) {
    EXPECT_TRUE(b.arrivals.empty()) << "no receive is posted";
  }
  EXPECT_TRUE(a.failed.empty());
  ASSERT_TRUE(b.channel->SetReceiveDepth(1).ok());
  ASSERT_TRUE(PumpUntil(a, b, [&] { return b.arrivals.size() == 1 && a.outstanding.empty(); }));
  EXPECT_TRUE(there);
  b.on_arrival = nullptr;
  EXPECT_TRUE(b.arrivals[0].has_immediate);
  EXPECT_EQ(b.arrivals[0].immediate, 0xfeedbeefu);
  EXPECT_TRUE(b.arrivals[0].message.empty());
  ASSERT_TRUE(a.StoreWithImmediate({}, b.Remote(0, 0), 0, 2)) << "also without bytes";
  ASSERT_TRUE(PumpUntil(a, b, [&] { return b.arrivals.size() == 2 && a.outstanding.empty(); }));
  EXPECT_TRUE(b.arrivals[1].has_immediate);
}

TYPED_TEST_P(MessageChannelTest, SleepingEndsWakeEachOther) {
  auto& a = this->a();
  auto& b = this->b();
  constexpr size_t kRounds = 300;
  ASSERT_TRUE(a.channel->SetReceiveDepth(2).ok());
  ASSERT_TRUE(b.channel->SetReceiveDepth(2).ok());
  a.partner = b.partner = nullptr;
  const MonotonicTime begin = MonotonicNow();
  const auto play = [](auto& me, bool serves) {
    const MonotonicTime give_up = DeadlineAfter(MonotonicNow(), kChannelPatience);
    uint64_t tag = 0;
    if (serves) {
      ASSERT_TRUE(me.Send({me.Local(0, 32)}, tag++));
    }
    while (me.arrivals.size() < kRounds || !me.outstanding.empty()) {
      ASSERT_LT(MonotonicNow(), give_up);
      if (!me.Reap()) me.Sleep();
      const uint64_t due = me.arrivals.size() + (serves ? 1 : 0);
      while (tag < due && tag < kRounds) ASSERT_TRUE(me.Send({me.Local(0, 32)}, tag++));
    }
  };
  std::thread other([&] { play(b, false); });
  play(a, true);
  other.join();
  EXPECT_EQ(a.arrivals.size(), kRounds);
  // A lost wake-up costs the second that Sleep waits at most.
  EXPECT_LT(MonotonicNow() - begin, kChannelPatience / 2);
}

REGISTER_TYPED_TEST_SUITE_P(MessageChannelTest, NothingHappensByItself,
                            CarriesMessagesOfEverySizeBothWays,
                            MessagesAndCompletionsKeepTheirOrder,
                            StoresAreThereWhenALaterMessageArrives,
                            WhatIsFlushedTogetherIsReportedOneByOne, FlushingTwiceMovesOnce,
                            StoreAndFetchMoveScatteredMemory, FetchesComeBackInOrderOfPosting,
                            MessageWaitsForAReceive, WhatIsBehindAWaitingMessageWaitsToo,
                            HeldReceivesKeepTheirBytes, FullSendQueueIsAgainAndRecovers,
                            InlinePostsAreCopiedWhenPosted, ImmediateTakesAReceiveBehindItsStore,
                            SleepingEndsWakeEachOther);

}  // namespace vof

#endif  // VOF_TESTING_CONFORMANCE_MESSAGE_CHANNEL_SUITE_H_
