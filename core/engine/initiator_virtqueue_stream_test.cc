// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <vector>

#include "core/engine/initiator_status.h"
#include "core/engine/initiator_virtqueue_fixture.h"
#include "core/wire/ref.h"
#include "core/wire/v5.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

template <typename C>
class VirtqueueStreamTest : public VirtqueueStreamFixture<C> {};
using Codecs = testing::Types<V5, Ref>;
TYPED_TEST_SUITE(VirtqueueStreamTest, Codecs);

TYPED_TEST(VirtqueueStreamTest, ConnectNamesInstanceAndQueue) {
  this->Make({.queue_size = 64});
  const std::string sent = this->driver_->Turn();
  const Command connect = DecodeCommandAt<TypeParam>(sent, 0);
  EXPECT_EQ(connect.kind, CommandKind::kConnect);
  EXPECT_EQ(connect.instance_id, 7);
  EXPECT_EQ(connect.queue_index, 2);
  EXPECT_NE(sent.find("disk"), std::string::npos);
}

// The device is this session's already: nobody else is in its way.
TEST(RefusedQueueTest, SpeaksOfTheQueue) {
  const auto text = [](Dialect dialect, Cause cause) {
    return std::string(RefusedQueueStatus(dialect, "virtqueue 3", {.cause = cause}).message());
  };
  for (const Dialect dialect : {Dialect::kV5, Dialect::kRef}) {
    const std::string limit = text(dialect, Cause::kLimit);
    EXPECT_EQ(limit.find("the target refused connect of virtqueue 3: the target could not open the "
                         "queue: see its log"),
              0u)
        << limit;
    const std::string busy = text(dialect, Cause::kExclusiveUse);
    EXPECT_EQ(busy.find("another session"), std::string::npos) << busy;
  }
  EXPECT_EQ(LimitText(Milliseconds(100)), "100 ms");
  EXPECT_EQ(LimitText(Milliseconds(1) - 1), "999 us");
}

TYPED_TEST(VirtqueueStreamTest, RefusedConnectTellsWhy) {
  this->Make({.queue_size = 64});
  Io io(0);
  this->queue_->Submit(&io.request);
  this->driver_->Turn();
  this->driver_->Feed(CompletionBytes<TypeParam>(CommandKind::kConnect, {.cause = Cause::kAccess}),
                      1);
  this->driver_->Turn();
  EXPECT_EQ(FailureCauseOf(this->why_), Cause::kAccess);
  EXPECT_EQ(FailureKindOf(this->why_), FailureKind::kRefused);
  EXPECT_TRUE(io.Ended(RequestError::kCancelled));
}

TYPED_TEST(VirtqueueStreamTest, ResponsesMayBeCutAtEveryByte) {
  for (size_t step = 1; step < 200; ++step) {
    this->connected_ = 0;
    this->Connect({.queue_size = 8});
    Io first(100), second(50), third(0, 300);
    for (Io* io : {&first, &second, &third}) this->queue_->Submit(&io->request);
    this->driver_->Turn();
    const std::string data = Pattern(100), other = Pattern(50, 'a');
    this->driver_->Feed(
        this->Answer(second, 1, other) + this->Answer(first, 0, data) + this->Answer(third, 2, ""),
        step);
    EXPECT_EQ(first.done, 0) << "done runs in Advance only";
    this->driver_->Turn();
    for (Io* io : {&first, &second, &third}) {
      ASSERT_TRUE(io->Ended(RequestError::kNone)) << step;
      EXPECT_EQ(io->status, '\0');
    }
    EXPECT_EQ(first.data, data);
    EXPECT_EQ(second.data, other);
    EXPECT_EQ(first.request.used_length, 101u);
  }
}

TYPED_TEST(VirtqueueStreamTest, LargeReadsGoStraightIntoTheirBuffers) {
  constexpr size_t kBytes = 128u << 10;
  for (const size_t step : {size_t{7001}, size_t{20000}, ~size_t{0}}) {
    this->connected_ = 0;
    this->Connect({.queue_size = 8});
    Io first(kBytes), second(kBytes);
    this->queue_->Submit(&first.request);
    this->queue_->Submit(&second.request);
    this->driver_->Turn();
    const std::string data = Pattern(kBytes), other = Pattern(kBytes, 'b');
    this->driver_->reads = 0;
    this->driver_->Feed(this->Answer(second, 1, other) + this->Answer(first, 0, data), step);
    this->driver_->Turn();
    EXPECT_TRUE(first.Ended(RequestError::kNone) && second.Ended(RequestError::kNone));
    EXPECT_TRUE(first.data == data && second.data == other);
    if (step == ~size_t{0}) {
      EXPECT_LE(this->driver_->reads, 3);
    }
  }
}

TYPED_TEST(VirtqueueStreamTest, SubmittedRequestsLeaveInOneWrite) {
  this->Connect({.queue_size = 64});
  std::vector<std::unique_ptr<Io>> ios;
  this->driver_->writes = 0;
  for (int i = 0; i < 32; ++i) {
    ios.push_back(std::make_unique<Io>(4096));
    this->queue_->Submit(&ios.back()->request);
  }
  const std::string sent = this->driver_->Turn();
  EXPECT_EQ(this->driver_->writes, 1);
  const size_t each = 32 + (TypeParam::kSegmentedStreams ? 3 * TypeParam::kDescriptorBytes : 0);
  ASSERT_EQ(sent.size(), 32 * each);
  for (uint16_t i = 0; i < 32; ++i) {
    EXPECT_EQ(DecodeCommandAt<TypeParam>(sent, i * each).command_id, i);
  }
  this->driver_->PeerCloses();
  for (const auto& io : ios) EXPECT_TRUE(io->Ended(RequestError::kClosed));
  EXPECT_EQ(FailureKindOf(this->why_), FailureKind::kLost);
}

TYPED_TEST(VirtqueueStreamTest, RequestsBeyondTheQueueSizeWait) {
  this->Connect({.queue_size = 2});
  Io first(0), second(0), third(0);
  for (Io* io : {&first, &second, &third}) this->queue_->Submit(&io->request);
  const size_t each = 32 + (TypeParam::kSegmentedStreams ? 2 * TypeParam::kDescriptorBytes : 0);
  EXPECT_EQ(this->driver_->Turn().size(), 2 * each);
  this->driver_->Feed(this->Answer(second, 1, ""));
  const std::string sent = this->driver_->Turn();
  ASSERT_EQ(sent.size(), each);
  EXPECT_EQ(DecodeCommandAt<TypeParam>(sent, 0).command_id, 1);
}

TYPED_TEST(VirtqueueStreamTest, DoneMaySubmitAgainAndGoesOutInTheSameTurn) {
  this->Connect({.queue_size = 1});
  static InitiatorQueue* queue;
  queue = this->queue_.get();
  Io io(10);
  io.request.done = [](InitiatorRequest* r) {
    ++static_cast<Io*>(r->context)->done;
    queue->Submit(r);
  };
  queue->Submit(&io.request);
  this->driver_->Turn();
  for (int i = 1; i <= 5; ++i) {
    this->driver_->Feed(this->Answer(io, 0, Pattern(10)));
    EXPECT_FALSE(this->driver_->Turn().empty());
    EXPECT_EQ(io.done, i);
  }
  io.request.done = [](InitiatorRequest* r) { ++static_cast<Io*>(r->context)->done; };
  this->driver_->PeerCloses();
  EXPECT_EQ(io.done, 6);
}

TYPED_TEST(VirtqueueStreamTest, TooLargeIsNeverSentAndNeverDoneInsideSubmit) {
  this->Connect({.queue_size = 2, .max_out_bytes = 100});
  Io io(0, 101), empty(0);
  empty.request.readable = {};
  empty.request.writable = {};
  this->queue_->Submit(&io.request);
  this->queue_->Submit(&empty.request);
  EXPECT_EQ(io.done, 0);
  EXPECT_TRUE(this->engine_->has_pending_work());
  EXPECT_TRUE(this->driver_->Turn().empty());
  EXPECT_TRUE(io.Ended(RequestError::kTooLarge));
  EXPECT_TRUE(empty.Ended(RequestError::kTooLarge));
  EXPECT_FALSE(this->engine_->wants_close());
}

TYPED_TEST(VirtqueueStreamTest, ManySmallPiecesArriveWhole) {
  this->Connect({.queue_size = 4});
  const std::string text = Pattern(1000 * 200);
  std::vector<ConstBuffer> pieces;
  for (size_t i = 0; i < 1000; ++i) pieces.push_back({text.data() + i * 200, 200});
  std::vector<std::unique_ptr<Io>> ios;
  for (int i = 0; i < 4; ++i) {
    ios.push_back(std::make_unique<Io>(0));
    ios.back()->request.readable = pieces;
    this->queue_->Submit(&ios.back()->request);
  }
  const std::string sent = this->driver_->Turn();
  const size_t framing =
      16 + (TypeParam::kSegmentedStreams ? 1001 * TypeParam::kDescriptorBytes : 0);
  ASSERT_EQ(sent.size(), 4 * (framing + text.size()));
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(sent.substr(i * (framing + text.size()) + framing, text.size()) == text);
  }
  this->driver_->PeerCloses();
}

TYPED_TEST(VirtqueueStreamTest, AnswerBeforeTheCommandIsSentKeepsTheBuffers) {
  this->Connect({.queue_size = 2});
  Io io(0, 100'000);
  this->queue_->Submit(&io.request);
  this->engine_->Advance(this->driver_->now);
  this->driver_->Drain(1000);
  this->driver_->Feed(this->Answer(io, 0, ""));
  this->engine_->Advance(this->driver_->now);
  EXPECT_EQ(io.done, 0) << "its buffers are still being sent";
  this->driver_->Feed(this->Answer(io, 0, ""));
  this->driver_->Turn();
  EXPECT_EQ(FailureKindOf(this->why_), FailureKind::kProtocol) << "a second answer";
  EXPECT_TRUE(io.Ended(RequestError::kNone)) << "it was answered";
}

TYPED_TEST(VirtqueueStreamTest, AnEarlyAnswerIsDeliveredOnceTheRestIsSent) {
  this->Connect({.queue_size = 2});
  Io io(0, 100'000);
  this->queue_->Submit(&io.request);
  this->engine_->Advance(this->driver_->now);
  this->driver_->Drain(1000);
  this->driver_->Feed(this->Answer(io, 0, ""));
  this->driver_->Turn();
  this->driver_->Turn();
  EXPECT_TRUE(io.Ended(RequestError::kNone));
  EXPECT_FALSE(this->engine_->wants_close());
}

// --- Time ---

TYPED_TEST(VirtqueueStreamTest, ALateRequestClosesTheConnection) {
  this->Connect({.queue_size = 2});
  Io slow(0), quick(0), waiting(0), never(0);
  slow.request.timeout = Milliseconds(900);
  quick.request.timeout = Milliseconds(100);
  for (Io* io : {&slow, &quick, &waiting, &never}) this->queue_->Submit(&io->request);
  this->driver_->Turn();
  EXPECT_LE(this->engine_->NextDeadline(), this->driver_->now + Milliseconds(100));
  this->driver_->now += Milliseconds(99);
  this->driver_->Turn();
  EXPECT_FALSE(this->engine_->wants_close());
  this->driver_->now += Milliseconds(1);
  this->engine_->OnTimer(this->driver_->now);
  EXPECT_TRUE(this->engine_->wants_close());
  this->engine_->Advance(this->driver_->now);
  EXPECT_EQ(quick.done, 0) << "buffers are free after the close only";
  this->driver_->Turn();
  EXPECT_TRUE(quick.Ended(RequestError::kTimedOut));
  EXPECT_TRUE(slow.Ended(RequestError::kClosed));
  EXPECT_TRUE(waiting.Ended(RequestError::kCancelled));
  EXPECT_EQ(FailureKindOf(this->why_), FailureKind::kTimedOut);
  EXPECT_NE(std::string(this->why_.message()).find("was not answered within 100 ms"),
            std::string::npos)
      << this->why_;
}

TYPED_TEST(VirtqueueStreamTest, ALateRequestThatWasNeverSentEndsAlone) {
  this->Connect({.queue_size = 1});
  Io first(0), waiting(0);
  waiting.request.timeout = Milliseconds(10);
  this->queue_->Submit(&first.request);
  this->queue_->Submit(&waiting.request);
  this->driver_->Turn();
  this->driver_->now += Milliseconds(10);
  this->driver_->Turn();
  EXPECT_TRUE(waiting.Ended(RequestError::kTimedOut));
  EXPECT_FALSE(this->engine_->wants_close());
  EXPECT_EQ(this->engine_->NextDeadline(), this->driver_->now - Milliseconds(10) + kTimeout);
  this->driver_->Feed(this->Answer(first, 0, ""));
  this->driver_->Turn();
  EXPECT_TRUE(first.Ended(RequestError::kNone));
}

TYPED_TEST(VirtqueueStreamTest, NoAnswerToConnectTimesOut) {
  this->Make({.queue_size = 1});
  this->driver_->Turn();
  this->driver_->now += kHandshakeTimeout;
  this->driver_->Turn();
  EXPECT_EQ(FailureKindOf(this->why_), FailureKind::kTimedOut);
}

TYPED_TEST(VirtqueueStreamTest, DrainServesWhatWasSubmittedAndTells) {
  this->Connect({.queue_size = 1});
  Io first(0), second(0), late(0);
  this->queue_->Submit(&first.request);
  this->queue_->Submit(&second.request);
  this->driver_->Turn();
  this->engine_->Drain();
  this->queue_->Submit(&late.request);
  this->driver_->Turn();
  EXPECT_TRUE(late.Ended(RequestError::kCancelled));
  this->driver_->Feed(this->Answer(first, 0, ""));
  this->driver_->Turn();
  EXPECT_EQ(this->drained_, 0);
  this->driver_->Feed(this->Answer(second, 0, ""));
  this->driver_->Turn();
  EXPECT_TRUE(first.Ended(RequestError::kNone) && second.Ended(RequestError::kNone));
  EXPECT_EQ(this->drained_, 1);
  this->engine_->OnClosed(CloseReason::kLocal, 0, this->driver_->now);
  this->driver_->Turn();
  EXPECT_TRUE(this->engine_->finished());
  EXPECT_EQ(FailureKindOf(this->why_), FailureKind::kClosed);
}

TYPED_TEST(VirtqueueStreamTest, TheReasonIsToldBeforeTheRequestsEnd) {
  this->Connect({.queue_size = 1});
  static const int* ended;
  ended = &this->ended_;
  Io io(0);
  io.request.done = [](InitiatorRequest* r) { static_cast<Io*>(r->context)->done = 10 + *ended; };
  this->queue_->Submit(&io.request);
  this->driver_->Turn();
  this->driver_->PeerCloses();
  EXPECT_EQ(io.done, 11);
}

}  // namespace
}  // namespace vof
