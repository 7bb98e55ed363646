// SPDX-License-Identifier: Apache-2.0
//
// What every message channel promises when something ends it: an access that its keys do not allow,
// Close() with work outstanding, a peer that vanishes. Every post comes back exactly once.
//
//   INSTANTIATE_TYPED_TEST_SUITE_P(Fabric, MessageChannelEndTest, testing::Types<FabricPairMaker>);
#ifndef VOF_TESTING_CONFORMANCE_MESSAGE_CHANNEL_END_SUITE_H_
#define VOF_TESTING_CONFORMANCE_MESSAGE_CHANNEL_END_SUITE_H_

#include <dirent.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <utility>

#include "core/base/buffer.h"
#include "core/base/time.h"
#include "core/transport/domain.h"
#include "core/transport/message_channel.h"
#include "testing/conformance/channel_harness.h"
#include "testing/conformance/message_channel_end_fixture.h"

namespace vof {

TYPED_TEST_SUITE_P(MessageChannelEndTest);

TYPED_TEST_P(MessageChannelEndTest, UnknownKeyIsRefused) {
  RemoteBuffer remote = this->b().Remote(0, 64);
  ++remote.key;
  this->ExpectRefused(remote, true);
}

TYPED_TEST_P(MessageChannelEndTest, FetchByAnUnknownKeyIsRefused) {
  RemoteBuffer remote = this->b().Remote(0, 64);
  remote.key = 0;
  this->ExpectRefused(remote, false);
}

TYPED_TEST_P(MessageChannelEndTest, StoreAcrossTheEndOfTheRegionIsRefused) {
  RemoteBuffer remote = this->b().Remote(kArenaBytes - 63, 64);
  this->ExpectRefused(remote, true);
}

TYPED_TEST_P(MessageChannelEndTest, FetchAcrossTheEndOfTheRegionIsRefused) {
  RemoteBuffer remote = this->b().Remote(kArenaBytes - 63, 64);
  this->ExpectRefused(remote, false);
}

TYPED_TEST_P(MessageChannelEndTest, AddressBeforeTheRegionIsRefused) {
  RemoteBuffer remote = this->b().Remote(0, 64);
  --remote.address;
  this->ExpectRefused(remote, true);
}

TYPED_TEST_P(MessageChannelEndTest, AddressThatWrapsAroundIsRefused) {
  RemoteBuffer remote = this->b().Remote(0, 64);
  remote.address = ~uint64_t{0} - 8;
  this->ExpectRefused(remote, false);
}

TYPED_TEST_P(MessageChannelEndTest, StoreIntoAReadableRegionIsRefused) {
  this->ExpectRefused(this->Exposed(Access::kRemoteRead, 64), true);
}

TYPED_TEST_P(MessageChannelEndTest, FetchFromAWritableRegionIsRefused) {
  this->ExpectRefused(this->Exposed(Access::kRemoteWrite, 64), false);
}

TYPED_TEST_P(MessageChannelEndTest, LocalRegionIsNotOpenToThePeer) {
  this->ExpectRefused(this->Exposed(Access::kLocal, 64), false);
}

TYPED_TEST_P(MessageChannelEndTest, KeyEndsWithItsRegion) {
  auto& a = this->a();
  auto& b = this->b();
  const RemoteBuffer remote = this->Exposed(Access::kRemoteReadWrite, 64);
  ASSERT_TRUE(a.Fetch({a.Local(0, 64)}, remote, 1));
  ASSERT_TRUE(PumpUntil(a, b, [&] { return a.outstanding.empty(); }));
  EXPECT_TRUE(a.Read(0, 64) == b.Read(0, 64));
  EXPECT_EQ(a.succeeded.size(), 1u);
  a.succeeded.clear();
  std::fill(a.memory.begin(), a.memory.end(), std::byte{0});
  this->extra_ = Region();
  this->ExpectRefused(remote, false);
}

TYPED_TEST_P(MessageChannelEndTest, LocalKeyMustCoverTheBuffer) {
  if (!TypeParam::kChecksLocalKeys) GTEST_SKIP() << "the fabric does not look";
  Bytes elsewhere(4096);
  // More than what is copied when it is posted, without a look at the key.
  const LocalBuffer local{elsewhere.data(), 4096, this->a().region.local_key()};
  ASSERT_TRUE(this->a().Store({local}, this->b().Remote(0, 4096), 1));
  this->ExpectBroken();
}

TYPED_TEST_P(MessageChannelEndTest, LocalKeyMustNotBeMissing) {
  if (!TypeParam::kChecksLocalKeys) GTEST_SKIP() << "the fabric does not look";
  Bytes elsewhere(4096);
  ASSERT_TRUE(this->a().Fetch({{elsewhere.data(), 64, nullptr}}, this->b().Remote(0, 64), 1));
  this->ExpectBroken();
}

TYPED_TEST_P(MessageChannelEndTest, MessageLongerThanTheReceiveBreaks) {
  auto& a = this->a();
  ASSERT_TRUE(this->b().channel->SetReceiveDepth(2).ok());
  ASSERT_TRUE(a.Send({a.Local(0, size_t{this->limits().max_message_bytes} + 1)}, 1));
  this->ExpectBroken();
}

TYPED_TEST_P(MessageChannelEndTest, FailureFlushesWhatIsBehindItAndAtThePeer) {
  if (!TypeParam::kRefusalsBreak) GTEST_SKIP() << "the fabric tells nobody";
  auto& a = this->a();
  auto& b = this->b();
  if (!TypeParam::kNoticesEndBehindMessages) {
    ASSERT_TRUE(a.channel->SetReceiveDepth(1).ok());
  }
  // The peer's message waits for ever; our posts are made before anything is flushed.
  ASSERT_TRUE(b.Send({b.Local(0, 8)}, 1));
  RemoteBuffer wrong = b.Remote(0, 8);
  wrong.key ^= 0x10101;
  const LocalBuffer local = a.Local(0, 8);
  uint64_t tag = 0;
  for (int i = 0; i < 100 && tag < static_cast<uint64_t>(this->limits().send_depth); ++i) {
    const std::span<const LocalBuffer> one(&local, 1);
    const PostStatus status = tag == 0 ? a.channel->PostStore(one, wrong, tag)
                                       : a.channel->PostStore(one, b.Remote(0, 8), tag);
    if (status == PostStatus::kOk) a.Owns(tag++);
  }
  a.channel->Flush();
  ASSERT_TRUE(PumpUntil(a, b, [&] { return a.disconnects == 1 && b.disconnects == 1; }));
  EXPECT_TRUE(a.outstanding.empty() && b.outstanding.empty()) << "before kDisconnected";
  this->ExpectFailed(a, tag);
  this->ExpectFailed(b, 1);
}

TYPED_TEST_P(MessageChannelEndTest, CloseReturnsEveryPostOnce) {
  auto& a = this->a();
  auto& b = this->b();
  this->PostWhatWaits();
  const size_t posted = a.outstanding.size() + a.succeeded.size();
  a.channel->Close();
  a.channel->Close();
  EXPECT_TRUE(this->Closed(a.channel));
  EXPECT_FALSE(a.channel->drained()) << "nothing was reaped";
  if (!TypeParam::kNoticesEndBehindMessages) {
    ASSERT_TRUE(b.channel->SetReceiveDepth(static_cast<int>(posted)).ok());
  }
  ASSERT_TRUE(PumpUntil(a, b, [&] { return a.channel->drained() && b.disconnects == 1; }));
  EXPECT_TRUE(a.outstanding.empty());
  this->ExpectFailed(a, posted);
  b.channel->Close();
  ASSERT_TRUE(PumpUntil(a, b, [&] { return b.channel->drained(); }));
}

TYPED_TEST_P(MessageChannelEndTest, ClosingAnIdleChannelDrainsIt) {
  this->a().channel->Close();
  ASSERT_TRUE(PumpUntil(this->a(), this->b(), [&] {
    return this->a().channel->drained() && this->b().disconnects == 1;
  }));
}

TYPED_TEST_P(MessageChannelEndTest, PostsThatWereNotFlushedComeBackToo) {
  auto& a = this->a();
  const LocalBuffer local = a.Local(0, 8);
  for (uint64_t tag = 0; tag < 2; ++tag) {
    PostStatus status = PostStatus::kAgain;
    while (status == PostStatus::kAgain) {
      status = a.channel->PostSend(std::span<const LocalBuffer>(&local, 1), tag);
    }
    ASSERT_EQ(status, PostStatus::kOk);
    a.Owns(tag);
  }
  a.channel->Close();
  ASSERT_TRUE(PumpUntil(a, this->b(), [&] { return a.channel->drained(); }));
  EXPECT_EQ(a.failed.size(), 2u);
}

TYPED_TEST_P(MessageChannelEndTest, PeerThatVanishesReturnsEveryPostOnce) {
  auto& a = this->a();
  this->PostWhatWaits();
  const size_t posted = a.outstanding.size() + a.succeeded.size();
  a.partner = nullptr;
  this->pair_.b.reset();
  const MonotonicTime give_up = DeadlineAfter(MonotonicNow(), kChannelPatience);
  while (a.disconnects == 0 && MonotonicNow() < give_up) a.Reap();
  EXPECT_EQ(a.disconnects, 1);
  EXPECT_TRUE(a.outstanding.empty());
  this->ExpectFailed(a, posted);
  EXPECT_TRUE(this->Closed(a.channel));
  EXPECT_FALSE(a.channel->drained()) << "drained means closed";
  a.channel->Close();
  EXPECT_TRUE(a.channel->drained());
}

TYPED_TEST_P(MessageChannelEndTest, WhatArrivedBeforeTheEndIsStillReported) {
  auto& a = this->a();
  auto& b = this->b();
  ASSERT_TRUE(b.channel->SetReceiveDepth(4).ok());
  for (uint64_t tag = 0; tag < 4; ++tag) {
    ASSERT_TRUE(a.Send({a.Local(0, 8 + tag)}, tag));
    // Without the peer's help, so that it finds message and end together; some fabrics need it.
    const MonotonicTime alone = DeadlineAfter(MonotonicNow(), kNanosecondsPerSecond);
    while (!a.outstanding.empty() && MonotonicNow() < alone) a.Reap();
    ASSERT_TRUE(PumpUntil(a, b, [&] { return a.outstanding.empty(); }));
  }
  ASSERT_EQ(a.succeeded.size(), 4u);
  a.channel->Close();
  ASSERT_TRUE(PumpUntil(a, b, [&] { return b.disconnects == 1; }));
  ASSERT_EQ(b.arrivals.size(), 4u);
  EXPECT_EQ(b.arrivals[3].message.size(), 11u);
}

TYPED_TEST_P(MessageChannelEndTest, ReceivesMayBeReturnedAfterTheEnd) {
  auto& a = this->a();
  auto& b = this->b();
  ASSERT_TRUE(b.channel->SetReceiveDepth(2).ok());
  b.returns_receives = false;
  a.Fill(0, Pattern(200, 8));
  ASSERT_TRUE(a.Send({a.Local(0, 200)}, 1));
  ASSERT_TRUE(PumpUntil(a, b, [&] { return b.held.size() == 1; }));
  a.channel->Close();
  ASSERT_TRUE(PumpUntil(a, b, [&] { return b.disconnects == 1; }));
  b.channel->Close();
  const std::span<const std::byte> message = b.held_messages[0];
  EXPECT_TRUE(Bytes(message.begin(), message.end()) == Pattern(200, 8));
  b.ReturnHeld();
  EXPECT_TRUE(b.channel->drained());
}

TYPED_TEST_P(MessageChannelEndTest, TheEndWakesASleeper) {
  auto& b = this->b();
  std::thread closer([this] {
    std::this_thread::yield();
    this->pair_.a->Close();
  });
  const MonotonicTime begin = MonotonicNow();
  while (b.disconnects == 0 && MonotonicNow() - begin < kChannelPatience) {
    if (!b.Reap()) b.Sleep();
  }
  closer.join();
  EXPECT_EQ(b.disconnects, 1);
}

TYPED_TEST_P(MessageChannelEndTest, BothEndsCloseAtOnceAcrossThreads) {
  for (int i = 0; i < 50; ++i) {
    this->Make();
    ChannelSide<typename TestFixture::Channel> a(this->pair_.a.get(), this->pair_.domain_a.get());
    ChannelSide<typename TestFixture::Channel> b(this->pair_.b.get(), this->pair_.domain_b.get());
    ASSERT_TRUE(b.channel->SetReceiveDepth(1).ok());
    const auto run = [](auto* side) {
      for (uint64_t tag = 0; tag < 4 && side->Send({side->Local(0, 8)}, tag); ++tag) {
        if (!side->Reap()) break;
      }
      side->channel->Close();
      const MonotonicTime give_up = DeadlineAfter(MonotonicNow(), kChannelPatience);
      while (!side->channel->drained() && MonotonicNow() < give_up) side->Reap();
    };
    std::thread other(run, &b);
    run(&a);
    other.join();
    ASSERT_TRUE(a.channel->drained() && b.channel->drained());
    EXPECT_TRUE(a.outstanding.empty() && b.outstanding.empty());
  }
}

inline int OpenDescriptors() {
  int count = 0;
  DIR* directory = opendir("/proc/self/fd");
  if (directory == nullptr) return -1;
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

TYPED_TEST_P(MessageChannelEndTest, ManyPairsLeaveNoDescriptors) {
  const auto cycle = [this] {
    this->Make();
    ASSERT_TRUE(this->pair_.b->SetReceiveDepth(1).ok());
    this->pair_.a->Arm();
    this->pair_.b->Arm();
    this->pair_.a->Close();
  };
  cycle();
  const int before = OpenDescriptors();
  for (int i = 0; i < TypeParam::kManyPairs; ++i) cycle();
  EXPECT_LE(OpenDescriptors(), before + TypeParam::kSpareDescriptors);
}

REGISTER_TYPED_TEST_SUITE_P(MessageChannelEndTest, UnknownKeyIsRefused,
                            FetchByAnUnknownKeyIsRefused, StoreAcrossTheEndOfTheRegionIsRefused,
                            FetchAcrossTheEndOfTheRegionIsRefused, AddressBeforeTheRegionIsRefused,
                            AddressThatWrapsAroundIsRefused, StoreIntoAReadableRegionIsRefused,
                            FetchFromAWritableRegionIsRefused, LocalRegionIsNotOpenToThePeer,
                            KeyEndsWithItsRegion, LocalKeyMustCoverTheBuffer,
                            LocalKeyMustNotBeMissing, MessageLongerThanTheReceiveBreaks,
                            FailureFlushesWhatIsBehindItAndAtThePeer, CloseReturnsEveryPostOnce,
                            ClosingAnIdleChannelDrainsIt, PostsThatWereNotFlushedComeBackToo,
                            PeerThatVanishesReturnsEveryPostOnce,
                            WhatArrivedBeforeTheEndIsStillReported,
                            ReceivesMayBeReturnedAfterTheEnd, TheEndWakesASleeper,
                            BothEndsCloseAtOnceAcrossThreads, ManyPairsLeaveNoDescriptors);

}  // namespace vof

#endif  // VOF_TESTING_CONFORMANCE_MESSAGE_CHANNEL_END_SUITE_H_
