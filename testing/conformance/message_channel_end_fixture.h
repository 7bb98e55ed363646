// SPDX-License-Identifier: Apache-2.0
//
// What the tests of message_channel_end_suite.h share: a pair, and what "broken" means at both
// ends.
#ifndef VOF_TESTING_CONFORMANCE_MESSAGE_CHANNEL_END_FIXTURE_H_
#define VOF_TESTING_CONFORMANCE_MESSAGE_CHANNEL_END_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "core/base/buffer.h"
#include "core/transport/domain.h"
#include "core/transport/message_channel.h"
#include "testing/conformance/channel_harness.h"
#include "testing/conformance/message_channel_fixture.h"

namespace vof {

template <typename Maker>
class MessageChannelEndTest : public ChannelPairTest<Maker> {
 protected:
  using Base = ChannelPairTest<Maker>;
  using Base::a;
  using Base::b;
  using Base::limits;
  using Base::pair_;
  using typename Base::Channel;
  using typename Base::Side;

  void SetUp() override {
    Base::SetUp();
    if (!this->HasFatalFailure()) b().Fill(0, Pattern(kArenaBytes, 5));
  }
  bool Closed(Channel* channel) {
    const LocalBuffer local = a().Local(0, 8);
    PostStatus status = PostStatus::kAgain;
    for (int i = 0; i < 1000 && status == PostStatus::kAgain; ++i) {
      status = channel->PostSend(std::span<const LocalBuffer>(&local, 1), 0);
    }
    return status == PostStatus::kClosed;
  }
  // So many sends and stores came back; as failed, unless the fabric reports them too early.
  void ExpectFailed(const Side& side, size_t posts) {
    EXPECT_EQ(side.failed.size() + side.succeeded.size(), posts);
    if (Maker::kConfirmsPosts) {
      EXPECT_EQ(side.failed.size(), posts);
    }
  }
  // The only post so far fails, and takes the channel with it at both ends.
  void ExpectBroken() {
    ASSERT_TRUE(PumpUntil(
        a(), b(), [&] { return Ended(a()) && b().disconnects == 1 && a().outstanding.empty(); }));
    PumpAWhile(a(), b());
    EXPECT_TRUE(Ended(a())) << "once";
    EXPECT_EQ(b().disconnects, 1) << "once";
    ExpectFailed(a(), 1);
    EXPECT_TRUE(b().arrivals.empty());
    EXPECT_TRUE(b().Read(0, kArenaBytes) == Pattern(kArenaBytes, 5)) << "nothing was touched";
    ExpectClosed();
  }
  void ExpectClosed() {
    EXPECT_TRUE(Closed(a().channel));
    EXPECT_TRUE(Closed(b().channel));
    a().channel->Close();
    b().channel->Close();
    EXPECT_TRUE(a().channel->drained());
    EXPECT_TRUE(b().channel->drained());
  }
  // Its own Close() is no event.
  bool Ended(const Side& side) { return side.disconnects == 1 || side.channel->drained(); }
  void ExpectRefused(const RemoteBuffer& remote, bool stores) {
    const LocalBuffer local = a().Local(0, remote.size_bytes);
    ASSERT_TRUE(stores ? a().Store({local}, remote, 1) : a().Fetch({local}, remote, 1));
    if (!Maker::kRefusalsBreak) {
      PumpAWhile(a(), b());
      a().channel->Close();
      ASSERT_TRUE(PumpUntil(a(), b(), [&] { return b().disconnects == 1; }));
    }
    ExpectBroken();
    EXPECT_TRUE(stores || a().succeeded.empty());
    EXPECT_TRUE(a().Read(0, remote.size_bytes) == Bytes(remote.size_bytes)) << "nothing came";
  }
  // Registers b's memory for this access only.
  RemoteBuffer Exposed(Access access, size_t size_bytes) {
    auto region = pair_.domain_b->Register(MutableBuffer(b().memory.data(), kArenaBytes), access);
    EXPECT_TRUE(region.ok());
    if (!region.ok()) return {};
    extra_ = *std::move(region);
    return {extra_.RemoteAddress(b().memory.data()), static_cast<uint32_t>(size_bytes),
            extra_.remote_key()};
  }
  // As many posts as fit, of all kinds, none of which can complete: the first message finds no
  // receive.
  void PostWhatWaits() {
    ASSERT_TRUE(a().Send({a().Local(0, 8)}, 1));
    for (uint64_t tag = 2; tag <= static_cast<uint64_t>(limits().send_depth); ++tag) {
      const RemoteBuffer remote = b().Remote(0, 8);
      ASSERT_TRUE(tag % 3 == 0   ? a().Send({a().Local(0, 8)}, tag)
                  : tag % 3 == 1 ? a().Store({a().Local(0, 8)}, remote, tag)
                                 : a().Fetch({a().Local(8, 8)}, remote, tag));
    }
  }

  Region extra_;
};

}  // namespace vof

#endif  // VOF_TESTING_CONFORMANCE_MESSAGE_CHANNEL_END_FIXTURE_H_
