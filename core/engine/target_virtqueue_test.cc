// SPDX-License-Identifier: Apache-2.0
//
// Virtqueue requests over raw bytes: framing, limits, duplicates, credits, order, memory.
#include "core/engine/target_virtqueue.h"

#include <memory>
#include <string>
#include <vector>

#include "core/engine/testing/target_harness.h"
#include "core/wire/test_bytes.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

std::string Payload(uint8_t first, size_t bytes) { return FakeAnswer(first, bytes); }

std::string Text(std::span<const std::byte> bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// One answer of the form that RequestBytes asks for, removed from the front of `received`.
template <Codec C>
Completion TakeAnswer(std::vector<std::byte>& received, std::string* data) {
  const Completion completion = TakeCompletion<C>(received, CommandKind::kVq);
  size_t descriptors = 0, bytes = completion.used_length;
  if constexpr (C::kSegmentedStreams) {
    descriptors = completion.ndesc * C::kDescriptorBytes;
    bytes = 0;
    for (size_t at = 0; at < descriptors && at < received.size(); at += C::kDescriptorBytes) {
      const Segment segment =
          C::DecodeSegment(std::span(received).subspan(at, C::kDescriptorBytes));
      EXPECT_EQ(segment.id, 0x2222);
      EXPECT_TRUE(segment.writable);
      bytes += segment.length_bytes;
    }
  }
  if (received.size() < descriptors + bytes) {
    ADD_FAILURE() << "the answer is cut: " << received.size() << " of " << descriptors + bytes;
    return completion;
  }
  *data = Text(std::span(received).subspan(descriptors, bytes));
  received.erase(received.begin(), received.begin() + static_cast<ptrdiff_t>(descriptors + bytes));
  return completion;
}

// Every kind of device queue that the engine treats differently.
struct Kind {
  bool completes_inline, lends_results;
};
constexpr Kind kKinds[] = {{true, true}, {true, false}, {false, true}, {false, false}};
FakeDeviceOptions OptionsFor(const Kind& kind) {
  FakeDeviceOptions options;
  options.completes_inline = kind.completes_inline;
  options.lends_results = kind.lends_results;
  return options;
}

template <typename C>
class TargetVirtqueueTest : public testing::Test {};
using Dialects = testing::Types<V5, Ref>;
TYPED_TEST_SUITE(TargetVirtqueueTest, Dialects);

// Three requests of mixed sizes, in pieces of every size up to a whole header and some odd ones,
// over receive buffers down to one byte: the device sees the same bytes, the initiator the same
// answers.
TYPED_TEST(TargetVirtqueueTest, AnyCutGivesTheSameAnswers) {
  const std::string payloads[] = {Payload(1, 16), Payload(2, 3000), Payload(3, 40)};
  const uint32_t answers[] = {513, 1, 300};
  for (const Kind& kind : kKinds) {
    for (size_t scratch : {size_t{1}, size_t{40}, size_t{64} << 10}) {
      for (size_t chunk = 1; chunk < 90; chunk += chunk < 20 ? 1 : 23) {
        SCOPED_TRACE(testing::Message() << kind.completes_inline << kind.lends_results << " "
                                        << scratch << " " << chunk);
        TargetHarness target(OptionsFor(kind));
        TestSession<TypeParam> session(target);
        FakeQueue* device = target.device->queue(0);
        device->record = true;
        session.queue->chunk_bytes = chunk;
        session.queue->scratch_bytes = scratch;
        std::vector<std::byte> bytes;
        for (uint16_t i = 0; i < 3; ++i) {
          const auto one = RequestBytes<TypeParam>(i, payloads[i], answers[i]);
          bytes.insert(bytes.end(), one.begin(), one.end());
        }
        session.queue->Send(bytes);
        ASSERT_EQ(device->recorded.size(), 3u);
        auto received = session.queue->TakeReceived();
        for (uint16_t i = 0; i < 3; ++i) {
          ASSERT_EQ(device->recorded[i], payloads[i]);
          std::string data;
          const Completion completion = TakeAnswer<TypeParam>(received, &data);
          ASSERT_EQ(completion.command_id, i);
          ASSERT_EQ(completion.used_length, answers[i]);
          ASSERT_EQ(data, FakeAnswer(i + 1, answers[i]));
        }
        ASSERT_TRUE(received.empty());
      }
    }
  }
}

TYPED_TEST(TargetVirtqueueTest, ABatchIsOneCallOfTheDevice) {
  FakeDeviceOptions options;
  options.lends_results = true;
  TargetHarness target(options);
  TestSession<TypeParam> session(target);
  std::vector<std::byte> bytes;
  for (uint16_t i = 0; i < 40; ++i) {
    const auto one = RequestBytes<TypeParam>(i, Payload(0, 16), 4097);
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  session.queue->Send(bytes);
  EXPECT_EQ(target.device->queue(0)->batches, 1);
  EXPECT_EQ(target.device->queue(0)->requests, 40);
}

TYPED_TEST(TargetVirtqueueTest, DataBehindTheHeaderIsPageAligned) {
  FakeDeviceOptions options = OptionsFor({false, false});
  TargetHarness target(options);
  TestSession<TypeParam> session(target);
  FakeQueue* device = target.device->queue(0);
  device->record = true;
  uint16_t id = 0;
  for (size_t bytes : {17, 4096 + 16, 65536 + 16, 1000000}) {
    session.queue->Send(RequestBytes<TypeParam>(id++, Payload(0, bytes), 1));
    EXPECT_EQ(device->data_addresses.back() % 4096, 0u) << bytes;
  }
}

TYPED_TEST(TargetVirtqueueTest, CompletionsGoOutInTheOrderOfTheDevice) {
  TargetHarness target(OptionsFor({false, false}));
  TestSession<TypeParam> session(target);
  FakeQueue* device = target.device->queue(0);
  device->hold = true;
  for (uint16_t i = 0; i < 3; ++i) {
    session.queue->Send(RequestBytes<TypeParam>(i, Payload(static_cast<uint8_t>(i), 16), 2000));
  }
  EXPECT_TRUE(session.queue->engine().has_pending_work());
  for (int i = 0; i < 3; ++i) device->CompleteLast();
  session.queue->Run();
  auto received = session.queue->TakeReceived();
  for (int i = 2; i >= 0; --i) {
    std::string data;
    EXPECT_EQ(TakeAnswer<TypeParam>(received, &data).command_id, i);
    EXPECT_EQ(data, FakeAnswer(static_cast<uint8_t>(i), 2000));
  }
  EXPECT_FALSE(session.queue->engine().has_pending_work());
}

TYPED_TEST(TargetVirtqueueTest, ADuplicateIdInFlightCloses) {  // field failure 4
  TargetHarness target(OptionsFor({false, false}));
  TestSession<TypeParam> session(target);
  target.device->queue(0)->hold = true;
  session.queue->Send(RequestBytes<TypeParam>(7, Payload(0, 16), 1));
  session.queue->Send(RequestBytes<TypeParam>(7, Payload(0, 16), 1));
  EXPECT_TRUE(session.queue->closed());
  EXPECT_FALSE(session.control->closed());
  session.queue->Run();
  EXPECT_TRUE(session.queue->finished());
}

TYPED_TEST(TargetVirtqueueTest, AnIdIsFreeOnceAnswered) {
  TargetHarness target;
  TestSession<TypeParam> session(target);
  for (int i = 0; i < 300; ++i) session.queue->Send(RequestBytes<TypeParam>(7, Payload(0, 16), 8));
  EXPECT_FALSE(session.queue->closed());
  EXPECT_EQ(target.device->queue(0)->requests, 300);
}

TYPED_TEST(TargetVirtqueueTest, RequestsWithoutOneOfTheParts) {
  for (const Kind& kind : kKinds) {
    TargetHarness target(OptionsFor(kind));
    TestSession<TypeParam> session(target);
    session.queue->Send(RequestBytes<TypeParam>(1, Payload(5, 100), 0));
    session.queue->Send(RequestBytes<TypeParam>(2, "", 100));
    auto received = session.queue->TakeReceived();
    std::string data;
    EXPECT_EQ(TakeAnswer<TypeParam>(received, &data).used_length, 0u);
    EXPECT_EQ(TakeAnswer<TypeParam>(received, &data).used_length, 100u);
    EXPECT_EQ(data, FakeAnswer(0, 100));
  }
}

// Field failure 18 without credits: an answer in `v5`, back-pressure in `ref`, no dead connection
// in either.
TYPED_TEST(TargetVirtqueueTest, MoreCommandsThanTheQueueHolds) {
  FakeDeviceOptions options = OptionsFor({false, false});
  options.max_queue_size = 4;
  TargetHarness target(options);
  TestSession<TypeParam> session(target);
  FakeQueue* device = target.device->queue(0);
  device->hold = true;
  for (uint16_t i = 0; i < 6; ++i) {
    session.queue->Send(RequestBytes<TypeParam>(i, Payload(0, 16), 1));
  }
  EXPECT_EQ(device->requests, 4);
  auto received = session.queue->TakeReceived();
  if (TypeParam::kDialect == Dialect::kV5) {
    for (uint16_t i = 4; i < 6; ++i) {
      const Completion refusal = TakeCompletion<TypeParam>(received, CommandKind::kVq);
      EXPECT_EQ(refusal.command_id, i);
      EXPECT_EQ(refusal.cause, Cause::kTooManyCommands);
    }
  }
  EXPECT_TRUE(received.empty());
  device->hold = false;
  session.queue->Run();
  EXPECT_EQ(device->requests, TypeParam::kDialect == Dialect::kV5 ? 4 : 6);
  EXPECT_FALSE(session.queue->closed());
}

TYPED_TEST(TargetVirtqueueTest, OutputThatNobodyReadsStopsTheInput) {
  FakeDeviceOptions options;
  options.lends_results = true;
  TargetHarness target(options);
  TestSession<TypeParam> session(target);
  session.queue->max_write_bytes = 0;
  std::vector<std::byte> bytes;
  for (uint32_t i = 0; i < 20000; ++i) {
    const auto one = RequestBytes<TypeParam>(static_cast<uint16_t>(i % 0xf000), Payload(0, 16), 9);
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  session.queue->Send(bytes);
  EXPECT_GT(session.queue->unsent_bytes(), 0u);
  EXPECT_FALSE(session.queue->engine().wants_read());
  EXPECT_TRUE(session.control->engine().wants_read());
  session.queue->max_write_bytes = SIZE_MAX;
  session.queue->Run();
  EXPECT_EQ(session.queue->unsent_bytes(), 0u) << "and starts it again";
}

TYPED_TEST(TargetVirtqueueTest, ADeviceThatFailsWithoutAnAnswer) {
  TargetHarness target;
  TestSession<TypeParam> session(target);
  target.device->queue(0)->fail = true;
  session.queue->Send(RequestBytes<TypeParam>(1, Payload(0, 16), 8));
  if (TypeParam::kDialect == Dialect::kRef) {
    EXPECT_TRUE(session.queue->closed()) << "Linux ignores the wire status";
  } else {
    auto received = session.queue->TakeReceived();
    const Completion completion = TakeCompletion<TypeParam>(received, CommandKind::kVq);
    EXPECT_EQ(completion.cause, Cause::kInLength);
    EXPECT_EQ(completion.used_length, 0u);
    EXPECT_FALSE(session.queue->closed());
  }
}

TEST(TargetVirtqueueV5Test, StatusGate) {
  TargetHarness target;
  auto control = ConnectControl<V5>(target);
  auto queue = ConnectQueue<V5>(target, 0, 0);
  for (int i = 0; i < 300; ++i) {  // more than the queue size: nothing is used up
    queue->Send(RequestBytes<V5>(1, Payload(0, 5000), 8));
    auto received = queue->TakeReceived();
    ASSERT_EQ(TakeCompletion<V5>(received, CommandKind::kVq).cause, Cause::kStatus);
  }
  for (uint32_t status : {1u, 3u, 11u, 15u}) Call<V5>(*control, SetStatusCommand(status));
  queue->Send(RequestBytes<V5>(1, Payload(0, 16), 8));
  auto received = queue->TakeReceived();
  EXPECT_TRUE(TakeCompletion<V5>(received, CommandKind::kVq).ok());
}

TEST(TargetVirtqueueRefTest, ServesAtAnyStatus) {
  TargetHarness target;
  auto control = ConnectControl<Ref>(target);
  auto queue = ConnectQueue<Ref>(target, 0, 0);
  queue->Send(RequestBytes<Ref>(1, Payload(3, 16), 8));
  auto received = queue->TakeReceived();
  std::string data;
  EXPECT_TRUE(TakeAnswer<Ref>(received, &data).ok());
  EXPECT_EQ(data, FakeAnswer(3, 8));
  EXPECT_EQ(target.device->queue(0)->activations, 1);
}

// Field failures 3 and 4: limits before memory.
TEST(TargetVirtqueueV5Test, LengthsBeyondTheLimitsAreAnsweredThenClosed) {
  const uint32_t out_limit = kMaxRequestBytes, in_limit = kMaxRequestBytes;
  struct Case {
    uint32_t out_bytes, in_bytes;
    Cause cause;
  };
  for (const Case& c :
       {Case{out_limit + 1, 0, Cause::kOutLength}, Case{0xffffffff, 0xffffffff, Cause::kOutLength},
        Case{16, in_limit + 1, Cause::kInLength}, Case{16, 0xffffffff, Cause::kInLength}}) {
    TargetHarness target(OptionsFor({false, false}));
    TestSession<V5> session(target);
    Command command;
    command.kind = CommandKind::kVq;
    command.out_length = c.out_bytes;
    command.in_length = c.in_bytes;
    session.queue->Send(CommandBytes<V5>(command));
    auto received = session.queue->TakeReceived();
    EXPECT_EQ(TakeCompletion<V5>(received, CommandKind::kVq).cause, c.cause);
    EXPECT_TRUE(session.queue->closed());
    EXPECT_EQ(target.pool.in_use_bytes(), 0u);
  }
}

TYPED_TEST(TargetVirtqueueTest, LargestRequestsBothWays) {
  for (const Kind& kind : kKinds) {
    FakeDeviceOptions options = OptionsFor(kind);
    options.max_answer_bytes = kMaxRequestBytes;
    TargetHarness target(options);
    TestSession<TypeParam> session(target);
    for (uint16_t i = 0; i < 2; ++i) {
      session.queue->Send(
          RequestBytes<TypeParam>(i, Payload(9, kMaxRequestBytes), kMaxRequestBytes));
    }
    auto received = session.queue->TakeReceived();
    std::string data;
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(TakeAnswer<TypeParam>(received, &data).used_length, kMaxRequestBytes);
      EXPECT_TRUE(data == FakeAnswer(9, kMaxRequestBytes));
    }
    EXPECT_EQ(target.pool.in_use_bytes(), 0u);
  }
}

}  // namespace
}  // namespace vof
