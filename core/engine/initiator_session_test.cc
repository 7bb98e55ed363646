// SPDX-License-Identifier: Apache-2.0
#include "core/engine/initiator_session.h"

#include <string>
#include <vector>

#include "core/engine/initiator_session_fixture.h"
#include "core/wire/ref.h"
#include "core/wire/v5.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

using K = CommandKind;

template <typename C>
class SessionTest : public SessionFixture<C> {};
using Codecs = testing::Types<V5, Ref>;
TYPED_TEST_SUITE(SessionTest, Codecs);

TYPED_TEST(SessionTest, BringUpMayBeCutAtEveryByte) {
  for (size_t step = 1; step <= 17; ++step) {
    this->target_ = {};
    this->ready_ = 0;
    this->options_.handshake.queues = 3;
    this->options_.handshake.queue_size = 1023;
    this->Make();
    this->Converse(step);
    ASSERT_EQ(this->ready_, 1) << this->why_;
    const SessionInfo& info = this->session().info();
    EXPECT_EQ(info.instance_id, 9);
    EXPECT_EQ(info.vendor_id, kOurVendorId);
    EXPECT_EQ(info.device_type, 2u);
    EXPECT_EQ(info.features, kFeatureVersion1 | 0x6);
    EXPECT_EQ(info.num_queues, 4);
    EXPECT_EQ(info.queue_sizes, (std::vector<uint16_t>{1023, 1023, 1022}));
    EXPECT_EQ(this->target_.accepted, info.features);
    EXPECT_EQ(this->target_.status, 15u);
  }
}

TYPED_TEST(SessionTest, FeaturesAreTheWantedOnesOfThoseOffered) {
  this->options_.handshake.wanted_features = 0x14;
  this->target_.features |= (1ull << 28) | (1ull << 34);
  this->BringUp();
  EXPECT_EQ(this->target_.accepted, kFeatureVersion1 | 0x4);
}

TYPED_TEST(SessionTest, RefusalsNameCommandAndCause) {
  for (const K kind : {K::kConnect, K::kGetVqSize, K::kSetDriverFeature}) {
    this->target_.answers = {{kind, {.cause = Cause::kAccess}}};
    this->Make();
    this->Converse(3);
    EXPECT_TRUE(this->engine_->finished());
    EXPECT_EQ(FailureCauseOf(this->why_), Cause::kAccess) << this->why_;
    EXPECT_EQ(this->why_.code(), absl::StatusCode::kPermissionDenied);
    EXPECT_NE(this->why_.message().find(std::string(CommandKindName(kind))),
              absl::string_view::npos);
  }
  EXPECT_EQ(this->ready_, 0);
}

TYPED_TEST(SessionTest, DriverOkWaitsForTheVirtqueues) {
  this->answer_open_ = false;
  this->Make();
  this->Converse();
  EXPECT_EQ(this->opened_, std::vector<uint16_t>{1024});
  EXPECT_EQ(this->target_.status & 4, 0u);
  EXPECT_FALSE(this->engine_->has_pending_work()) << "nothing to do but wait";
  this->session().VirtqueuesOpened();
  this->Converse();
  EXPECT_EQ(this->ready_, 1);
}

TYPED_TEST(SessionTest, ConfigurationIsReadUnderOneGeneration) {
  this->BringUp();
  this->target_.changes_left = 2;
  absl::StatusOr<ConfigSnapshot> got = absl::UnknownError("not called");
  this->session().ReadConfig({{0, 8}, {20, 4}, {32, 1}}, [&](auto snapshot) { got = snapshot; });
  this->Converse();
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->generation, 7u);
  EXPECT_EQ(got->values, (std::vector<uint64_t>{0x1122334455667788, 0x55667788, 0x88}));
}

TYPED_TEST(SessionTest, ConfigurationThatNeverStandsStillIsAnError) {
  this->BringUp();
  this->target_.changes_left = 1000;
  absl::Status got;
  this->session().ReadConfig({{0, 8}, {8, 4}}, [&](auto snapshot) { got = snapshot.status(); });
  this->Converse();
  EXPECT_EQ(got.code(), absl::StatusCode::kAborted);
  EXPECT_LE(this->target_.seen.size(), 8u * 4);
  EXPECT_FALSE(this->engine_->wants_close());
}

TYPED_TEST(SessionTest, RefusedOperationsLeaveTheSessionAlone) {
  this->BringUp();
  this->target_.answers = {{K::kGetConfig, {.cause = Cause::kConfigOffset}},
                           {K::kSetConfig, {.cause = Cause::kConfigOffset}}};
  absl::Status read, write;
  this->session().ReadConfig({{9000, 8}}, [&](auto snapshot) { read = snapshot.status(); });
  this->session().WriteConfig({9000, 1}, 1, [&](const absl::Status& s) { write = s; });
  this->Converse();
  EXPECT_EQ(FailureCauseOf(read), Cause::kConfigOffset) << read;
  EXPECT_EQ(FailureCauseOf(write), Cause::kConfigOffset) << write;
  EXPECT_NE(read.message().find("8 bytes at offset 9000"), absl::string_view::npos);
  EXPECT_FALSE(this->engine_->wants_close());
}

TYPED_TEST(SessionTest, ConfigurationIsWritten) {
  this->BringUp();
  absl::Status got = absl::UnknownError("not called");
  this->session().WriteConfig({32, 1}, 0x101, [&](const absl::Status& s) { got = s; });
  this->Converse();
  EXPECT_TRUE(got.ok()) << got;
  ASSERT_EQ(this->target_.seen.size(), 1u);
  EXPECT_EQ(this->target_.seen[0].offset, 32);
  EXPECT_EQ(this->target_.seen[0].value, 1u);
}

TYPED_TEST(SessionTest, ResetBringsTheDeviceUpAgain) {
  this->BringUp();
  absl::Status got = absl::UnknownError("not called");
  this->session().Reset([&](const absl::Status& s) { got = s; });
  this->Converse();
  EXPECT_TRUE(got.ok()) << got;
  EXPECT_EQ(this->target_.status, 15u);
  EXPECT_EQ(this->ready_, 1) << "it is the same session";
  for (const Command& command : this->target_.seen) {
    EXPECT_NE(command.kind, K::kConnect);
    EXPECT_NE(command.kind, K::kGetVqSize);
  }
}

TYPED_TEST(SessionTest, PingTellsTheRoundTrip) {
  this->BringUp();
  absl::StatusOr<Nanoseconds> got = absl::UnknownError("not called");
  this->session().Ping([&](auto round_trip) { got = round_trip; });
  const std::string sent = this->driver_->Turn();
  this->driver_->now += Milliseconds(3);
  this->driver_->Feed(this->AnswerAll(sent));
  this->driver_->Turn();
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(*got, Milliseconds(3));
}

// --- Ends ---

TYPED_TEST(SessionTest, DisconnectIsAnswered) {
  this->BringUp();
  absl::Status queued;
  this->session().Disconnect();
  this->session().WriteConfig({0, 1}, 1, [&](const absl::Status& s) { queued = s; });
  this->Converse();
  const K expected = TypeParam::kDialect == Dialect::kV5 ? K::kDisconnect : K::kSetStatus;
  EXPECT_EQ(this->SeenKinds(), std::vector<K>{expected});
  EXPECT_TRUE(this->engine_->finished());
  EXPECT_EQ(FailureKindOf(this->why_), FailureKind::kClosed);
  EXPECT_EQ(FailureKindOf(queued), FailureKind::kClosed);
}

TYPED_TEST(SessionTest, DisconnectDoesNotWaitForever) {
  this->BringUp();
  this->session().Disconnect();
  this->driver_->Turn();
  EXPECT_FALSE(this->engine_->finished());
  this->driver_->now += this->options_.disconnect_timeout;
  this->driver_->Turn();
  EXPECT_TRUE(this->engine_->finished());
  EXPECT_EQ(FailureKindOf(this->why_), FailureKind::kClosed);
}

TYPED_TEST(SessionTest, ALostConnectionEndsEveryOperation) {
  this->BringUp();
  int failed = 0;
  for (int i = 0; i < 3; ++i) {
    this->session().WriteConfig({0, 1}, 1, [&](const absl::Status& s) {
      failed += FailureKindOf(s) == FailureKind::kLost;
    });
  }
  this->driver_->Turn();
  this->driver_->PeerCloses();
  this->driver_->Turn();
  EXPECT_EQ(failed, 3);
  EXPECT_EQ(this->ended_, 1);
  EXPECT_TRUE(this->engine_->finished());
  // And what is begun afterwards.
  this->session().WriteConfig({0, 1}, 1, [&](const absl::Status& s) { failed += !s.ok(); });
  this->driver_->Turn();
  EXPECT_EQ(failed, 4);
}

TYPED_TEST(SessionTest, ACommandWithoutAnswerEndsTheSession) {
  this->BringUp();
  absl::Status got;
  this->session().WriteConfig({0, 1}, 1, [&](const absl::Status& s) { got = s; });
  this->driver_->Turn();
  EXPECT_EQ(this->engine_->NextDeadline(), this->driver_->now + this->options_.command_timeout);
  this->driver_->now += this->options_.command_timeout;
  this->driver_->Turn();
  this->driver_->Turn();
  EXPECT_EQ(FailureKindOf(got), FailureKind::kTimedOut) << got;
  EXPECT_NE(got.message().find("set_config"), absl::string_view::npos);
}

// Nor does a target hold an operation up that answers each of its commands late.
TYPED_TEST(SessionTest, AnOperationOfManyCommandsHasTheTimeOfOne) {
  this->BringUp();
  absl::Status got = absl::UnknownError("not called");
  this->session().ReadConfig({{0, 8}, {20, 4}, {32, 1}}, [&](auto s) { got = s.status(); });
  std::string sent = this->driver_->Turn();
  this->driver_->now += this->options_.command_timeout / 2;
  this->driver_->Feed(this->AnswerAll(sent), ~size_t{0});
  sent = this->driver_->Turn();
  ASSERT_FALSE(sent.empty());
  this->driver_->now += this->options_.command_timeout / 2;
  this->driver_->Turn();
  this->driver_->Turn();
  EXPECT_EQ(FailureKindOf(got), FailureKind::kTimedOut) << got;

  // The next one has its own.
  this->target_ = {};
  this->ended_ = this->ready_ = 0;
  this->BringUp();
  for (int i = 0; i < 3; ++i) {
    this->session().ReadConfig({{0, 8}}, [&](auto s) { got = s.status(); });
    this->driver_->now += this->options_.command_timeout / 2;
    this->Converse();
    EXPECT_TRUE(got.ok()) << got;
  }
}

// A slow target has all the time that connecting may take, for each command of it.
TYPED_TEST(SessionTest, UntilTheDeviceIsReadyOnlyTheConnectTimeOutCounts) {
  this->Make();
  this->driver_->Turn();
  const MonotonicTime start = this->driver_->now;
  EXPECT_EQ(this->engine_->NextDeadline(), start + this->options_.connect_timeout);
  this->driver_->now = start + this->options_.command_timeout;
  this->driver_->Turn();
  EXPECT_EQ(this->ended_, 0);
  this->driver_->now = start + this->options_.connect_timeout;
  this->driver_->Turn();
  EXPECT_EQ(FailureKindOf(this->why_), FailureKind::kTimedOut) << this->why_;
  EXPECT_NE(this->why_.message().find("no answer to connect"), absl::string_view::npos)
      << this->why_;
}

TYPED_TEST(SessionTest, VirtqueuesThatNeverConnectEndTheSession) {
  this->answer_open_ = false;
  this->Make();
  this->Converse();
  this->driver_->now += this->options_.connect_timeout;
  this->driver_->Turn();
  EXPECT_EQ(FailureKindOf(this->why_), FailureKind::kTimedOut) << this->why_;
}

TYPED_TEST(SessionTest, HostileAnswersEndTheSession) {
  const Completion unasked = {.command_id = 1234};
  for (const bool in_bring_up : {true, false}) {
    this->target_ = {};
    this->ended_ = this->ready_ = 0;
    this->Make();
    if (in_bring_up) {
      this->driver_->Turn();
    } else {
      this->Converse();
    }
    this->driver_->Feed(CompletionBytes<TypeParam>(K::kConnect, unasked), 1);
    this->driver_->Turn();
    EXPECT_EQ(this->ended_, 1);
    EXPECT_EQ(FailureKindOf(this->why_), FailureKind::kProtocol) << this->why_;
    EXPECT_EQ(this->session().met_a_target(), !in_bring_up);
  }
}

TYPED_TEST(SessionTest, OnlyATargetRefusesWithAKnownNumber) {
  for (const Cause cause : {Cause::kAccess, Cause::kUnknown}) {
    std::string refusal = CompletionBytes<TypeParam>(K::kConnect, {.cause = Cause::kAccess});
    if (cause == Cause::kUnknown) refusal[0] = 0x4a;  // the low byte of the status
    this->target_ = {};
    this->Make();
    this->driver_->Turn();
    this->driver_->Feed(refusal, 1);
    this->driver_->Turn();
    EXPECT_EQ(FailureCauseOf(this->why_), cause) << this->why_;
    EXPECT_EQ(this->session().met_a_target(), cause == Cause::kAccess);
  }
}

TYPED_TEST(SessionTest, ImpossibleAnswersEndTheBringUp) {
  const auto fails = [&](K kind, const Completion& answer) {
    this->target_ = {};
    this->target_.answers = {{kind, answer}};
    this->ended_ = this->ready_ = 0;
    this->Make();
    this->Converse();
    EXPECT_EQ(this->ended_, 1) << CommandKindName(kind);
    EXPECT_EQ(this->ready_, 0);
  };
  fails(K::kGetNumQueues, {.value = 0});
  fails(K::kGetVqSize, {.value = 0});
  fails(K::kGetStatus, {.value = 0xc0});
  fails(K::kGetStatus, {.value = 0x80});
}

}  // namespace
}  // namespace vof
