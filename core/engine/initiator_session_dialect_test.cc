// SPDX-License-Identifier: Apache-2.0
//
// What the control queue of an initiator does in one dialect only.
#include <string>
#include <vector>

#include "core/engine/initiator_session_fixture.h"
#include "core/wire/ref.h"
#include "core/wire/v5.h"
#include "gtest/gtest.h"
#include "testing/golden/recording.h"

namespace vof {
namespace {

using K = CommandKind;
using V5SessionTest = SessionFixture<V5>;
using RefSessionTest = SessionFixture<Ref>;

TEST_F(V5SessionTest, AcceptsTheTransportFeaturesItKnows) {
  BringUp();
  const SessionInfo& info = session().info();
  EXPECT_EQ(info.transport_features, transport_feature::kCredit | transport_feature::kNumQueues);
  EXPECT_EQ(info.max_out_bytes, 4096u);
  EXPECT_EQ(info.max_in_bytes, 8192u);
  EXPECT_EQ(info.epoch, 77u);
}

TEST_F(V5SessionTest, WithoutPagesTheDefaultsStand) {
  target_.answers = {{K::kGetFeature, {.cause = Cause::kUnknownCommand}}};
  options_.handshake.queues = 2;
  BringUp();
  EXPECT_EQ(session().info().transport_features, 0u);
  EXPECT_EQ(session().info().max_out_bytes, kMaxRequestBytes);
  EXPECT_EQ(session().info().queue_sizes.size(), 1u) << "nothing says that there are more";
}

TEST_F(V5SessionTest, WithoutNumQueuesTheDeviceTypeSaysWhereTheNumberIs) {
  target_.transport = transport_feature::kCredit;
  target_.answers = {{K::kGetConfig, {.value = 3}}};
  options_.handshake.queues = 2;
  options_.handshake.num_queues_field = ConfigField{34, 2};
  options_.handshake.num_queues_feature = 1u << 2;
  BringUp();
  EXPECT_EQ(session().info().num_queues, 3);
  EXPECT_EQ(session().info().queue_sizes.size(), 2u);
}

TEST_F(V5SessionTest, ALegacyDeviceIsUnsupported) {
  target_.features = 6;
  Make();
  Converse();
  EXPECT_EQ(FailureKindOf(why_), FailureKind::kUnsupported);
}

TEST_F(V5SessionTest, FeaturesThatTheDeviceDoesNotWorkWithAreUnsupported) {
  target_.answers = {{K::kGetStatus, {.value = 3}}};
  Make();
  Converse();
  EXPECT_EQ(FailureKindOf(why_), FailureKind::kUnsupported) << why_;
}

TEST_F(V5SessionTest, KeepalivesStateTheirIntervalAndEndASilentSession) {
  options_.keepalive = Milliseconds(250);
  BringUp();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(engine_->NextDeadline(), driver_->now + Milliseconds(250));
    driver_->now += Milliseconds(249);
    EXPECT_TRUE(driver_->Turn().empty());
    driver_->now += Milliseconds(1);
    const std::string sent = driver_->Turn();
    ASSERT_EQ(sent.size(), kHeaderBytes);
    EXPECT_EQ(DecodeCommandAt<V5>(sent, 0).kind, K::kKeepalive);
    EXPECT_EQ(DecodeCommandAt<V5>(sent, 0).interval_ms, 250u);
    driver_->Feed(AnswerAll(sent));
    driver_->Turn();
  }
  driver_->now += Milliseconds(250);
  EXPECT_FALSE(driver_->Turn().empty());
  driver_->now += Milliseconds(249);
  driver_->Turn();
  EXPECT_FALSE(engine_->wants_close());
  driver_->now += Milliseconds(1);
  driver_->Turn();
  EXPECT_EQ(FailureKindOf(why_), FailureKind::kTimedOut) << why_;
}

TEST_F(V5SessionTest, TheFirstKeepaliveDoesNotWaitForAnInterval) {
  options_.keepalive = Milliseconds(10'000);
  Make();
  Converse();
  ASSERT_EQ(ready_, 1) << why_;
  EXPECT_EQ(target_.seen.back().kind, K::kKeepalive);
  EXPECT_EQ(target_.seen.back().interval_ms, 10'000u);
}

TEST_F(V5SessionTest, AKeepaliveDoesNotWaitForAnotherCommand) {
  options_.keepalive = Milliseconds(100);
  BringUp();
  bool done = false;
  session().WriteConfig({0, 1}, 1, [&](const absl::Status& s) { done = s.ok(); });
  const std::string write = driver_->Turn();
  driver_->now += Milliseconds(100);
  const std::string keepalive = driver_->Turn();
  ASSERT_EQ(keepalive.size(), kHeaderBytes);
  driver_->Feed(AnswerAll(keepalive) + AnswerAll(write), 5);
  driver_->Turn();
  EXPECT_TRUE(done);
  EXPECT_FALSE(engine_->wants_close());
}

TEST_F(V5SessionTest, EventsAreToldOnceAndKeepalivesIgnored) {
  BringUp();
  const std::string change =
      CompletionBytes<V5>(K::kGetConfig, {.command_id = kEventConfigChanged, .generation = 6});
  const std::string keepalive = CompletionBytes<V5>(K::kUnknown, {.command_id = kEventKeepalive});
  driver_->Feed(keepalive + change + keepalive, 7);
  EXPECT_EQ(config_changed_, 0);
  driver_->Turn();
  EXPECT_EQ(config_changed_, 1);
  EXPECT_FALSE(engine_->wants_close());
}

TEST_F(V5SessionTest, EventsThatCannotBeEndTheSession) {
  for (const uint16_t id : {0xff00, 0xfffd, 0xfffe}) {
    ended_ = ready_ = 0;
    Make();
    if (id == kEventConfigChanged) {
      driver_->Turn();  // not before DRIVER_OK
    } else {
      Converse();
    }
    driver_->Feed(CompletionBytes<V5>(K::kGetConfig, {.command_id = id}));
    driver_->Turn();
    EXPECT_EQ(FailureKindOf(why_), FailureKind::kProtocol) << why_;
    EXPECT_EQ(ended_, 1);
  }
}

// --- ref ---

TEST_F(RefSessionTest, OurTargetsAreAskedForTheirSegments) {
  BringUp();
  EXPECT_EQ(session().info().max_segments, 130);
}

TEST_F(RefSessionTest, WithoutVersion1FeaturesOkIsLeftOut) {
  target_.features = 0x1006;
  BringUp();
  EXPECT_EQ(target_.status, 7u);
}

TEST_F(RefSessionTest, NoKeepaliveIsSent) {
  options_.keepalive = Milliseconds(100);
  BringUp();
  EXPECT_EQ(engine_->NextDeadline(), kInfiniteFuture);
}

// Everything our initiator says to a target that is not ours was said by the Linux initiator, byte
// for byte and in the same order; the recorded target's own answers come back.
TEST_F(RefSessionTest, SaysWhatTheRecordedInitiatorSaid) {
  const auto recording = LoadRecording("ref_linux_tcp_control.txt");
  ASSERT_TRUE(recording.ok()) << recording.status();
  Make();
  size_t next = 0;
  const auto replay = [&](const std::string& sent) {
    std::string answer;
    for (; next + 1 < recording->pdus.size() && answer.empty(); next += 2) {
      const std::vector<std::byte>& said = recording->pdus[next].bytes;
      const std::string_view bytes(reinterpret_cast<const char*>(said.data()), said.size());
      // Names are our own.
      const size_t compared = sent.size() > kHeaderBytes ? kHeaderBytes + 24 : kHeaderBytes;
      if (bytes.substr(0, compared) != sent.substr(0, compared)) continue;
      const std::vector<std::byte>& answered = recording->pdus[next + 1].bytes;
      answer.assign(reinterpret_cast<const char*>(answered.data()), answered.size());
    }
    EXPECT_FALSE(answer.empty()) << "not in the recording, or not in this order";
    return answer;
  };
  const auto converse = [&] {
    for (std::string sent = driver_->Turn(); !sent.empty(); sent = driver_->Turn()) {
      const std::string answer = replay(sent);
      if (answer.empty()) return;
      driver_->Feed(answer);
    }
  };
  converse();
  ASSERT_EQ(ready_, 1) << why_;
  EXPECT_EQ(session().info().queue_sizes, std::vector<uint16_t>{1024});
  EXPECT_EQ(session().info().features, 0x1006u);
  session().Disconnect();
  converse();
  EXPECT_EQ(next, recording->pdus.size()) << "its last word is ours";
  EXPECT_EQ(FailureKindOf(why_), FailureKind::kClosed);
}

}  // namespace
}  // namespace vof
