// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <vector>

#include "core/engine/initiator_virtqueue_fixture.h"
#include "core/wire/ref.h"
#include "core/wire/v5.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

template <typename C>
class VirtqueueHostileTest : public VirtqueueStreamFixture<C> {};
using Codecs = testing::Types<V5, Ref>;
TYPED_TEST_SUITE(VirtqueueHostileTest, Codecs);

TYPED_TEST(VirtqueueHostileTest, AnUnknownCommandIdIsAProtocolError) {
  for (const uint16_t id : {1, 63, 64, 4096, 0xff00, 0xfffe, 0xffff}) {
    SCOPED_TRACE(id);
    this->ended_ = this->connected_ = 0;
    this->Connect({.queue_size = 64});
    Io io(10);
    this->queue_->Submit(&io.request);
    this->driver_->Turn();
    this->driver_->Feed(this->Answer(io, id, Pattern(10)));
    this->ExpectProtocolEnd({&io});
  }
}

TYPED_TEST(VirtqueueHostileTest, ADuplicateCompletionIsAProtocolError) {
  this->Connect({.queue_size = 64});
  Io io(10), other(10);
  this->queue_->Submit(&io.request);
  this->queue_->Submit(&other.request);
  this->driver_->Turn();
  this->driver_->Feed(this->Answer(io, 0, Pattern(10)) + this->Answer(io, 0, Pattern(10)));
  this->ExpectProtocolEnd({&other});
  EXPECT_TRUE(io.Ended(RequestError::kNone));
}

TYPED_TEST(VirtqueueHostileTest, AUsedLengthAboveWhatWasAskedIsAProtocolError) {
  for (const uint32_t used : {12u, 0xffffffffu}) {
    this->ended_ = this->connected_ = 0;
    this->Connect({.queue_size = 64});
    Io io(10);
    this->queue_->Submit(&io.request);
    this->driver_->Turn();
    this->driver_->Feed(CompletionBytes<TypeParam>(
        CommandKind::kVq, {.used_length = used, .inline_length = used, .grant = 1, .ndesc = 2}));
    this->ExpectProtocolEnd({&io});
  }
}

TYPED_TEST(VirtqueueHostileTest, BytesBehindTheConnectAnswerAreAProtocolError) {
  this->Make({.queue_size = 1});
  this->driver_->Turn();
  this->driver_->Feed(CompletionBytes<TypeParam>(CommandKind::kConnect, {}) + "x");
  this->ExpectProtocolEnd({});
}

// --- v5 only ---

using V5VirtqueueTest = VirtqueueStreamFixture<V5>;

TEST_F(V5VirtqueueTest, LengthsThatDisagreeAreAProtocolError) {
  Connect({.queue_size = 64});
  Io io(10);
  queue_->Submit(&io.request);
  driver_->Turn();
  driver_->Feed(CompletionBytes<V5>(CommandKind::kVq, {.used_length = 5, .inline_length = 4}));
  ExpectProtocolEnd({&io});
}

TEST_F(V5VirtqueueTest, ARefusalTellsTheCauseAndLeavesTheQueueUsable) {
  Connect({.queue_size = 64});
  Io io(10), next(10);
  queue_->Submit(&io.request);
  driver_->Turn();
  driver_->Feed(CompletionBytes<V5>(CommandKind::kVq, {.cause = Cause::kStatus}));
  driver_->Turn();
  EXPECT_TRUE(io.Ended(RequestError::kRefused));
  EXPECT_EQ(io.request.cause, Cause::kStatus);
  queue_->Submit(&next.request);
  EXPECT_FALSE(driver_->Turn().empty());
  driver_->PeerCloses();
}

TEST_F(V5VirtqueueTest, CreditsShrinkAndGrowTheWindow) {
  Connect({.queue_size = 2, .credits = true});
  Io a(0), b(0), c(0), d(0);
  for (Io* io : {&a, &b, &c, &d}) queue_->Submit(&io->request);
  EXPECT_EQ(driver_->Turn().size(), 64u);
  driver_->Feed(Answer(a, 0, "", /*grant=*/0));
  EXPECT_TRUE(driver_->Turn().empty()) << "no credit came back";
  driver_->Feed(Answer(b, 1, "", /*grant=*/1));
  EXPECT_EQ(driver_->Turn().size(), 32u) << "c, in a window of one";
  driver_->Feed(CompletionBytes<V5>(CommandKind::kVq, {.command_id = kEventCredit, .grant = 1}));
  EXPECT_EQ(driver_->Turn().size(), 32u) << "d";
  driver_->PeerCloses();
  EXPECT_TRUE(c.Ended(RequestError::kClosed) && d.Ended(RequestError::kClosed));
}

TEST_F(V5VirtqueueTest, GrantsOutOfRangeAreProtocolErrors) {
  for (const uint16_t grant : {0, 3, 0xffff}) {
    SCOPED_TRACE(grant);
    ended_ = connected_ = 0;
    Connect({.queue_size = 2, .credits = true});
    Io io(0);
    if (grant == 0) {  // the event with no credit in it
      driver_->Feed(CompletionBytes<V5>(CommandKind::kVq, {.command_id = kEventCredit}));
      ExpectProtocolEnd({});
      continue;
    }
    queue_->Submit(&io.request);
    driver_->Turn();
    driver_->Feed(Answer(io, 0, "", grant));
    ExpectProtocolEnd({&io});
  }
}

TEST_F(V5VirtqueueTest, TheCreditEventNeedsTheFeature) {
  Connect({.queue_size = 2});
  driver_->Feed(CompletionBytes<V5>(CommandKind::kVq, {.command_id = kEventCredit, .grant = 1}));
  ExpectProtocolEnd({});
}

// --- ref only ---

using RefVirtqueueTest = VirtqueueStreamFixture<Ref>;

TEST_F(RefVirtqueueTest, SegmentsAreTheCallersPiecesWithoutEmptyOnes) {
  Connect({.queue_size = 2});
  Io io(512);
  queue_->Submit(&io.request);
  const std::string sent = driver_->Turn();
  const Command command = DecodeCommandAt<Ref>(sent, 0);
  ASSERT_EQ(command.ndesc, 3);
  const uint32_t lengths[] = {16, 512, 1};
  const uint64_t addresses[] = {0, 16, 528};
  for (size_t i = 0; i < 3; ++i) {
    const Segment segment = Ref::DecodeSegment(std::as_bytes(std::span(sent)).subspan(16 + i * 24));
    EXPECT_EQ(segment.length_bytes, lengths[i]);
    EXPECT_EQ(segment.address, addresses[i]);
    EXPECT_EQ(segment.id, i);
    EXPECT_EQ(segment.writable, i > 0);
  }
  driver_->PeerCloses();
}

TEST_F(RefVirtqueueTest, DescriptorsItNeverSentAreProtocolErrors) {
  const Segment good = {.length_bytes = 10, .id = 1, .writable = true};
  for (int wrong = 0; wrong < 6; ++wrong) {
    SCOPED_TRACE(wrong);
    ended_ = connected_ = 0;
    Connect({.queue_size = 2});
    Io io(10);
    queue_->Submit(&io.request);
    driver_->Turn();
    Segment bad = good;
    uint16_t ndesc = 2;
    if (wrong == 0) bad.length_bytes = 11;
    if (wrong == 1) bad.length_bytes = 0;
    if (wrong == 2) bad.id = 2;
    if (wrong == 3) bad.writable = false;
    if (wrong == 4) ndesc = 3;
    if (wrong == 5) bad.length_bytes = 9;  // a hole before the status that is said to be there
    driver_->Feed(CompletionBytes<Ref>(CommandKind::kVq, {.used_length = 11, .ndesc = ndesc}) +
                      SegmentBytes<Ref>(bad),
                  1);
    ExpectProtocolEnd({&io});
  }
}

TEST_F(RefVirtqueueTest, AFailureStillBringsItsSegments) {
  Connect({.queue_size = 2});
  Io io(10);
  queue_->Submit(&io.request);
  driver_->Turn();
  driver_->Feed(CompletionBytes<Ref>(CommandKind::kVq, {.cause = Cause::kOutLength, .ndesc = 2}) +
                SegmentBytes<Ref>({.length_bytes = 1, .id = 1, .writable = true}) +
                SegmentBytes<Ref>({.length_bytes = 1, .id = 2, .writable = true}) + "zs");
  driver_->Turn();
  EXPECT_TRUE(io.Ended(RequestError::kRefused));
  EXPECT_EQ(io.status, 's');
  EXPECT_FALSE(engine_->wants_close());
  // EIO has no cause of its own, so only the number tells what happened.
  EXPECT_EQ(io.request.status, 5);
  const absl::Status status =
      RefusedStatus(Dialect::kRef, "write", {.cause = io.request.cause, .status = 5});
  EXPECT_EQ(status.message(), "the target could not do a write: I/O error (EIO, status 5)");
  EXPECT_EQ(FailureKindOf(status), FailureKind::kNone) << "nothing was refused";
}

}  // namespace
}  // namespace vof
