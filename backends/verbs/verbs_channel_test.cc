// SPDX-License-Identifier: Apache-2.0
//
// What the conformance suites cannot see: how often the device is rung, what it reports, and every
// way in which it fails.
#include "backends/verbs/verbs_channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "backends/verbs/testing/fake_verbs.h"
#include "testing/conformance/channel_harness.h"
#include "testing/conformance/verbs_pairs.h"

namespace vof {
namespace {

using testing::HasSubstr;

class VerbsChannelTest : public testing::Test {
 protected:
  using Side = ChannelSide<VerbsChannel>;

  void Connect(const VerbsOptions& options = SuiteOptions()) {
    source_.emplace(fake_, "127.0.0.1", options);
    auto made = source_->Make();
    ASSERT_TRUE(made.ok()) << made.status();
    pair_ = *std::move(made);
    a_.emplace(pair_.a.get(), pair_.domain_a.get());
    b_.emplace(pair_.b.get(), pair_.domain_b.get());
    a_->partner = &*b_;
    b_->partner = &*a_;
  }
  void TearDown() override {
    a_.reset();
    b_.reset();
    pair_ = {};
    source_.reset();
    EXPECT_EQ(fake_->LiveObjects(), "");
    EXPECT_EQ(fake_->Misuse(), "");
  }
  // `count` stores in one chain.
  void PostStores(int count) {
    const LocalBuffer local = a_->Local(0, 8);
    for (int i = 0; i < count; ++i) {
      const auto tag = next_tag_++;
      ASSERT_EQ(
          a_->channel->PostStore(std::span<const LocalBuffer>(&local, 1), b_->Remote(0, 8), tag),
          PostStatus::kOk);
      a_->Owns(tag);
    }
    a_->channel->Flush();
  }
  void ExpectBroken(const std::string& why) {
    ASSERT_TRUE(PumpUntil(*a_, *b_, [&] { return a_->disconnects == 1 && b_->disconnects == 1; }));
    EXPECT_TRUE(a_->outstanding.empty());
    EXPECT_THAT(a_->channel->error(), HasSubstr(why));
    const LocalBuffer local = a_->Local(0, 8);
    EXPECT_EQ(a_->channel->PostSend(std::span<const LocalBuffer>(&local, 1), 0),
              PostStatus::kClosed);
    a_->channel->Close();
    EXPECT_TRUE(a_->channel->drained());
  }

  const std::shared_ptr<FakeVerbs> fake_ = std::make_shared<FakeVerbs>();
  std::optional<VerbsPairSource> source_;
  ChannelPair<VerbsChannel> pair_;
  std::optional<Side> a_;
  std::optional<Side> b_;
  uint64_t next_tag_ = 0;
};

TEST_F(VerbsChannelTest, ChainIsOneDoorbellAndOneCompletion) {
  Connect();
  const uint64_t doorbells = fake_->doorbells();
  const uint64_t completions = fake_->completions();
  PostStores(10);
  ASSERT_TRUE(PumpUntil(*a_, *b_, [&] { return a_->outstanding.empty(); }));
  EXPECT_EQ(a_->succeeded.size(), 10u);
  EXPECT_EQ(fake_->doorbells() - doorbells, 1u);
  EXPECT_EQ(fake_->completions() - completions, 1u);
}

TEST_F(VerbsChannelTest, LongChainIsReportedInPieces) {
  VerbsOptions options = SuiteOptions();
  options.signal_every = 8;
  Connect(options);
  const uint64_t completions = fake_->completions();
  PostStores(20);
  ASSERT_TRUE(PumpUntil(*a_, *b_, [&] { return a_->outstanding.empty(); }));
  EXPECT_EQ(fake_->completions() - completions, 3u) << "8, 16 and the last";
}

TEST_F(VerbsChannelTest, EveryFailureOfAWorkRequestBreaksAndReturnsAll) {
  for (const ibv_wc_status status :
       {IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_PROT_ERR, IBV_WC_WR_FLUSH_ERR,
        IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_OP_ERR, IBV_WC_RETRY_EXC_ERR,
        IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_FATAL_ERR, IBV_WC_GENERAL_ERR}) {
    SCOPED_TRACE(ibv_wc_status_str(status));
    Connect();
    PostStores(3);
    ASSERT_TRUE(PumpUntil(*a_, *b_, [&] { return a_->outstanding.empty(); }));
    fake_->FailNextWorkRequest(status);
    PostStores(50);
    ExpectBroken(ibv_wc_status_str(status));
    EXPECT_EQ(a_->succeeded.size(), 3u);
    EXPECT_EQ(a_->failed.size(), 50u);
  }
}

TEST_F(VerbsChannelTest, PostThatTheDeviceRefusesBreaks) {
  Connect();
  fake_->FailCall("PostSend", 0, EINVAL);
  PostStores(5);
  ExpectBroken("cannot post");
  EXPECT_EQ(a_->failed.size(), 5u);
}

TEST_F(VerbsChannelTest, BrokenCompletionQueueBreaks) {
  Connect();
  PostStores(5);
  fake_->FailCall("Poll", 0, EIO);
  ExpectBroken("the completion queue is broken");
}

TEST_F(VerbsChannelTest, RemovalOfTheDeviceBreaksBothEnds) {
  Connect();
  ASSERT_TRUE(a_->Send({a_->Local(0, 8)}, 1));  // finds no receive
  fake_->RemoveDevice();
  ExpectBroken("fake0 was removed");
  EXPECT_EQ(a_->failed.size(), 1u);
}

TEST_F(VerbsChannelTest, RemovalWakesASleeper) {
  Connect();
  ASSERT_TRUE(a_->channel->Arm());
  pollfd fd{.fd = a_->channel->wait_fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&fd, 1, 0), 0);
  fake_->RemoveDevice();
  EXPECT_EQ(poll(&fd, 1, 1000), 1);
  a_->Reap();
  EXPECT_EQ(a_->disconnects, 1) << "in the first turn after waking";
}

TEST_F(VerbsChannelTest, FailureOfNotificationsIsNotSleptOver) {
  Connect();
  PostStores(1);
  ASSERT_TRUE(PumpUntil(*a_, *b_, [&] { return a_->outstanding.empty(); }));
  fake_->FailCall("RequestNotification", 0, EIO);
  EXPECT_FALSE(a_->channel->Arm()) << "there is kDisconnected to reap";
  ExpectBroken("cannot wait for completions");
}

TEST_F(VerbsChannelTest, DeviceThatCopiesNothingStillTakesInlineSends) {
  fake_->max_inline_bytes = 0;
  Connect();
  EXPECT_EQ(pair_.a->limits().inline_bytes, 64u);
  ASSERT_TRUE(b_->channel->SetReceiveDepth(1).ok());
  Bytes message = Pattern(64, 1);
  const LocalBuffer local{message.data(), 64, nullptr};
  ASSERT_TRUE(a_->Send({local}, 1));
  ASSERT_TRUE(PumpUntil(*a_, *b_, [&] { return b_->arrivals.size() == 1; }));
  EXPECT_TRUE(b_->arrivals[0].message == message);
}

TEST_F(VerbsChannelTest, MoreReceivesThanTheQueueTakesAreAnError) {
  Connect();
  const absl::Status status = b_->channel->SetReceiveDepth(129);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("the queue takes 128"));
  EXPECT_TRUE(b_->channel->SetReceiveDepth(4).ok()) << "the channel works on";
}

TEST_F(VerbsChannelTest, SmallCompletionQueuesOfTheDeviceAreNamed) {
  fake_->device().max_cqe = 100;
  source_.emplace(fake_, "127.0.0.1", SuiteOptions());
  const absl::Status status = source_->Make().status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("max_cqe of fake0 is 100, 256 are needed"));
}

TEST_F(VerbsChannelTest, SharedReceivesComeBackFromAChannelThatEnds) {
  VerbsOptions options = SuiteOptions();
  options.shared_receives = true;
  options.max_shared_receives = 4;
  Connect(options);
  ASSERT_TRUE(b_->channel->SetReceiveDepth(4).ok());
  b_->returns_receives = false;
  for (uint64_t tag = 0; tag < 4; ++tag) ASSERT_TRUE(a_->Send({a_->Local(0, 8)}, tag));
  ASSERT_TRUE(PumpUntil(*a_, *b_, [&] { return b_->held.size() == 4; }));
  // Keeps the shared queue while the other pair ends with all receives in its hands.
  auto second = source_->Make();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_FALSE(second->b->SetReceiveDepth(4).ok()) << "all are wanted";
  a_.reset();
  b_.reset();
  pair_ = *std::move(second);
  a_.emplace(pair_.a.get(), pair_.domain_a.get());
  b_.emplace(pair_.b.get(), pair_.domain_b.get());
  ASSERT_TRUE(b_->channel->SetReceiveDepth(4).ok());
  for (uint64_t tag = 0; tag < 4; ++tag) ASSERT_TRUE(a_->Send({a_->Local(0, 8)}, tag));
  ASSERT_TRUE(PumpUntil(*a_, *b_, [&] { return b_->arrivals.size() == 4; }));
}

}  // namespace
}  // namespace vof
