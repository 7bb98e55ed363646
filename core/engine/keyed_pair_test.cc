// SPDX-License-Identifier: Apache-2.0
//
// Both ends of keyed transmission against each other, without a fabric: whole sessions in both
// dialects, with memory that is registered and memory that is not.
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "core/engine/testing/keyed_session_fixture.h"
#include "core/engine/testing/random_io.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

template <typename C>
class KeyedPairTest : public KeyedSessionFixture<C> {};

using Codecs = testing::Types<V5, Ref>;
TYPED_TEST_SUITE(KeyedPairTest, Codecs);

TYPED_TEST(KeyedPairTest, RequestsOfAnyShapeToADeviceThatFillsBuffers) {
  this->Start({});
  this->Work(300, 1, 60'000);
}

TYPED_TEST(KeyedPairTest, RequestsOfAnyShapeToADeviceThatLends) {
  KeyedSessionOptions pair;
  pair.device.lends_results = true;
  this->Start(pair);
  this->Work(300, 2, 60'000);
}

TYPED_TEST(KeyedPairTest, WhatIsLentIsCopiedWhereItIsNotRegistered) {
  KeyedSessionOptions pair;
  pair.device.lends_results = true;
  pair.lends_registered = false;
  this->Start(pair);
  this->Work(300, 2, 60'000);
}

TYPED_TEST(KeyedPairTest, RequestsOfAnyShapeToADeviceThatTakesItsTime) {
  KeyedSessionOptions pair;
  pair.device.completes_inline = false;
  this->Start(pair);
  this->Work(300, 3, 60'000);
}

TYPED_TEST(KeyedPairTest, EventsOneAtATime) {
  KeyedSessionOptions pair;
  pair.events_per_turn = 1;
  pair.device.completes_inline = false;
  this->Start(pair);
  this->Work(100, 9, 20'000);
}

TYPED_TEST(KeyedPairTest, AQueueOfOne) {
  KeyedSessionOptions pair;
  pair.queue_size = 1;
  this->Start(pair);
  this->Work(100, 4, 20'000);
}

TYPED_TEST(KeyedPairTest, MorePiecesThanAMessageDescribes) {
  KeyedSessionOptions pair;
  pair.max_pieces = 500;
  this->Start(pair);
  this->Work(40, 5, 60'000);
}

TYPED_TEST(KeyedPairTest, ASmallRequestIsOneMessageEachWay) {
  this->Start({});
  std::mt19937_64 random(5);
  RandomIo io(random, 17, 1);
  MessageWire& wire = *this->lanes_[1].wire;
  const int64_t sends = wire.sends, others = wire.fetches + wire.stores;
  this->queues_[0]->Submit(&io.request);
  this->Settle();
  EXPECT_EQ(io.done, 1);
  EXPECT_EQ(wire.sends - sends, 2);
  const int64_t remote = wire.fetches + wire.stores - others;
  if (TypeParam::kDialect == Dialect::kV5) {
    EXPECT_EQ(remote, 0);
  } else {
    EXPECT_GT(remote, 0) << "`ref` has no inline data";
  }
}

// The credits of an answer are there before the target hears that its answer is.
TYPED_TEST(KeyedPairTest, AFullQueueGoesOnWhileTheTargetHearsLateOfItsAnswers) {
  KeyedSessionOptions pair;
  pair.queue_size = 4;
  this->Start(pair);
  std::mt19937_64 random(11);
  std::vector<std::unique_ptr<RandomIo>> ios;
  this->lanes_[1].wire->holds_completions[1] = true;
  for (int i = 0; i < 12; ++i) {
    ios.push_back(std::make_unique<RandomIo>(random, 17, 1));
    this->queues_[0]->Submit(&ios.back()->request);
  }
  this->Settle();
  this->lanes_[1].wire->holds_completions[1] = false;
  this->Settle();
  for (const auto& io : ios) {
    EXPECT_EQ(io->done, 1);
    EXPECT_EQ(io->request.error, RequestError::kNone) << CauseText(io->request.cause);
  }
}

// Nothing wakes a queue that waits for its peer: it has to look by itself whether others wait by
// now.
TYPED_TEST(KeyedPairTest, AQueueThatOwesLooksAgainSoon) {
  this->Start({});
  TargetMessages& target = *this->lanes_[1].target;
  EXPECT_GT(target.NextDeadline(), this->Now() + kMinContendedStallTimeout) << "it owes nothing";
  std::mt19937_64 random(11);
  RandomIo io(random, 17, 1);
  this->lanes_[1].wire->holds_completions[1] = true;
  this->queues_[0]->Submit(&io.request);
  this->Settle();
  EXPECT_LE(target.NextDeadline(), this->Now() + kMinContendedStallTimeout);
  this->lanes_[1].wire->holds_completions[1] = false;
  this->Settle();
  EXPECT_EQ(io.done, 1);
}

TYPED_TEST(KeyedPairTest, CompletionsCarryNoMoreThanAgreed) {
  KeyedSessionOptions pair;
  pair.target.inline_completion_bytes = 0;
  pair.device.lends_results = true;  // results in two pieces, the last one small
  this->Start(pair);
  this->Work(300, 12, 60'000);
}

TYPED_TEST(KeyedPairTest, ALateRequestLeavesTheLineForMemory) {
  this->Start({});
  std::mt19937_64 random(13);
  RandomIo late(random, 5000, 1), other(random, 5000, 1);
  late.request.timeout = Milliseconds(5);
  std::vector<PoolBuffer> taken;
  for (size_t size = size_t{8} << 20; size >= 512; size /= 2) {
    while (PoolBuffer buffer = this->pool_.Allocate(size)) taken.push_back(std::move(buffer));
  }
  this->ForgetUserMemory();
  this->queues_[0]->Submit(&late.request);
  this->Settle();
  ASSERT_TRUE(this->pool_.has_waiters());
  this->target_->now += Milliseconds(6);
  this->Settle();
  EXPECT_EQ(late.request.error, RequestError::kTimedOut);
  this->queues_[1]->Submit(&other.request);
  this->Settle();
  EXPECT_EQ(other.done, 0);
  taken.clear();
  this->Settle();
  EXPECT_EQ(other.done, 1);
  EXPECT_EQ(other.request.error, RequestError::kNone);
}

TYPED_TEST(KeyedPairTest, AResetInTheMiddleOfWork) {
  KeyedSessionOptions pair;
  pair.device.completes_inline = false;
  this->Start(pair);
  this->target_->device->queue(0)->hold = true;
  std::mt19937_64 random(7);
  RandomIo io(random, 100, 2);
  this->queues_[0]->Submit(&io.request);
  this->Settle();
  absl::Status reset = absl::UnknownError("not called");
  this->control_->session().Reset([&](const absl::Status& status) { reset = status; });
  this->Settle();
  EXPECT_TRUE(reset.ok()) << reset;
  EXPECT_EQ(io.done, 1) << "requests end before the reset is answered";
  this->target_->device->queue(0)->hold = false;
  this->Work(20, 8, 1000);
}

TYPED_TEST(KeyedPairTest, ALostFabricEndsEveryRequestOnce) {
  KeyedSessionOptions pair;
  pair.device.completes_inline = false;
  this->Start(pair);
  this->target_->device->queue(0)->hold = true;
  std::mt19937_64 random(6);
  std::vector<std::unique_ptr<RandomIo>> ios;
  for (int i = 0; i < 30; ++i) {
    ios.push_back(std::make_unique<RandomIo>(random, 20'000, 4));
    this->queues_[0]->Submit(&ios.back()->request);
  }
  this->Settle();
  this->lanes_[1].wire->Cut(this->Now());
  this->Settle();
  for (const auto& io : ios) {
    EXPECT_EQ(io->done, 1);
    EXPECT_NE(io->request.error, RequestError::kNone);
  }
  EXPECT_TRUE(this->why_.ok()) << "the session goes on: " << this->why_;
}

TYPED_TEST(KeyedPairTest, DisconnectEndsTheInstance) {
  this->Start({});
  this->control_->session().Disconnect();
  this->Settle();
  EXPECT_TRUE(this->control_->finished());
  EXPECT_EQ(FailureKindOf(this->why_), FailureKind::kClosed) << this->why_;
  for (int i = 0; i < 10; ++i) this->Settle();
  EXPECT_TRUE(this->target_->directory.Sessions().empty());
}

TYPED_TEST(KeyedPairTest, ConfigurationChangesReachTheInitiator) {
  this->Start({});
  this->target_->device->ChangeConfig(0, 42);
  this->Settle();
  EXPECT_EQ(this->config_changed_, TypeParam::kDialect == Dialect::kV5 ? 1 : 0);
}

}  // namespace
}  // namespace vof
