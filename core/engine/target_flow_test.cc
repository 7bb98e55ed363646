// SPDX-License-Identifier: Apache-2.0
//
// Flow control of virtqueues: credits, a pool that is too small, limits of a session, and `ref`
// segments.
#include <memory>
#include <string>
#include <vector>

#include "core/engine/testing/target_harness.h"
#include "core/wire/test_bytes.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

const std::string kPayload = "\x05" + std::string(15, '.');

FakeDeviceOptions Buffered(uint16_t queue_size = 128) {
  FakeDeviceOptions options;
  options.completes_inline = false;
  options.max_queue_size = queue_size;
  return options;
}

// --- Credits ---

TEST(TargetFlowTest, EachCompletionHandsItsCreditBack) {
  TargetHarness target(Buffered(4));
  TestSession<V5> session(target, transport_feature::kCredit);
  for (uint16_t i = 0; i < 20; ++i) {
    session.queue->Send(RequestBytes<V5>(i, kPayload, 1));
    auto received = session.queue->TakeReceived();
    EXPECT_EQ(TakeCompletion<V5>(received, CommandKind::kVq).grant, 1);
  }
}

TEST(TargetFlowTest, ACommandWithoutCreditIsRefusedAndCostsNothingElse) {  // field failure 18
  TargetHarness target(Buffered(2));
  TestSession<V5> session(target, transport_feature::kCredit);
  FakeQueue* device = target.device->queue(0);
  device->hold = true;
  for (uint16_t i = 0; i < 3; ++i) {
    session.queue->Send(RequestBytes<V5>(i, std::string(3000, 'x'), 1));
  }
  auto received = session.queue->TakeReceived();
  const Completion refusal = TakeCompletion<V5>(received, CommandKind::kVq);
  EXPECT_EQ(refusal.command_id, 2);
  EXPECT_EQ(refusal.cause, Cause::kTooManyCommands);
  EXPECT_EQ(refusal.grant, 0);
  device->hold = false;
  session.queue->Run();
  received = session.queue->TakeReceived();
  EXPECT_EQ(received.size(), 2 * (kHeaderBytes + 1));
  session.queue->Send(RequestBytes<V5>(2, kPayload, 1));
  EXPECT_EQ(session.queue->received().size(), kHeaderBytes + 1);
}

TEST(TargetFlowTest, TheWindowShrinksWhileMemoryIsShortAndGrowsAgain) {
  TargetHarness target(Buffered(4));
  TestSession<V5> session(target, transport_feature::kCredit);
  FakeQueue* device = target.device->queue(0);
  device->hold = true;
  for (uint16_t i = 0; i < 4; ++i) session.queue->Send(RequestBytes<V5>(i, kPayload, 600));
  // Somebody else takes the rest of the pool, and one more waits for it.
  std::vector<PoolBuffer> hogs;
  while (PoolBuffer hog = target.pool.Allocate(4u << 20)) hogs.push_back(std::move(hog));
  struct Waiter final : PoolWaiter {
    void OnPoolMayHaveMemory() override {}
  } waiter;
  target.pool.WaitFor(8u << 20, &waiter);
  uint32_t granted = 0;
  for (int i = 0; i < 4; ++i) device->CompleteNext();
  session.queue->Run();
  auto received = session.queue->TakeReceived();
  for (int i = 0; i < 4; ++i) {
    granted += TakeCompletion<V5>(received, CommandKind::kVq).grant;
    received.erase(received.begin(), received.begin() + 600);
  }
  EXPECT_EQ(granted, 1u) << "never less than one";
  hogs.clear();
  target.pool.Forget(&waiter);
  session.queue->Run();
  received = session.queue->TakeReceived();
  const Completion event = TakeCompletion<V5>(received, CommandKind::kVq);
  EXPECT_EQ(event.command_id, kEventCredit);
  EXPECT_EQ(event.grant, 3);
  EXPECT_TRUE(received.empty());
}

// --- Memory (field failure 17) ---

template <typename C>
class TargetFlowDialectTest : public testing::Test {};
using Dialects = testing::Types<V5, Ref>;
TYPED_TEST_SUITE(TargetFlowDialectTest, Dialects);

TYPED_TEST(TargetFlowDialectTest, LargeRequestsOverASmallPoolAllComplete) {
  constexpr uint16_t kDepth = 8;
  for (const bool both_ways : {false, true}) {
    TargetHarness target(Buffered());
    TestSession<TypeParam> session(target);
    auto second = ConnectQueue<TypeParam>(target, session.instance_id, 1);
    RawPeer* queues[] = {session.queue.get(), second.get()};
    for (int q = 0; q < 2; ++q) target.device->queue(static_cast<uint16_t>(q))->hold = true;
    const std::string payload(kMaxDataBytes, 'p');
    for (uint16_t i = 0; i < kDepth; ++i) {
      const auto request = RequestBytes<TypeParam>(i, payload, both_ways ? kMaxRequestBytes : 1);
      for (RawPeer* queue : queues) queue->Send(request);
    }
    EXPECT_LE(target.pool.in_use_bytes(), kMinPoolBytes);
    EXPECT_TRUE(target.pool.has_waiters());
    // Control commands need none of it.
    Command command;
    command.kind = CommandKind::kKeepalive;
    EXPECT_TRUE(Call<TypeParam>(*session.control, command).ok());
    for (int q = 0; q < 2; ++q) target.device->queue(static_cast<uint16_t>(q))->hold = false;
    for (int turn = 0; turn < 4 * kDepth; ++turn) {
      for (RawPeer* queue : queues) queue->Run();
    }
    EXPECT_EQ(target.device->queue(0)->requests, kDepth);
    EXPECT_EQ(target.device->queue(1)->requests, kDepth);
    EXPECT_EQ(target.pool.in_use_bytes(), 0u);
  }
}

TYPED_TEST(TargetFlowDialectTest, AQueueThatClosesWhileItWaitsLetsTheNextOneGo) {
  TargetHarness target(Buffered());
  TestSession<TypeParam> session(target);
  auto second = ConnectQueue<TypeParam>(target, session.instance_id, 1);
  auto hog = target.pool.Allocate(8u << 20);
  auto hog2 = target.pool.Allocate(8u << 20);
  session.queue->Send(RequestBytes<TypeParam>(1, kPayload, 600));
  second->Send(RequestBytes<TypeParam>(1, kPayload, 600));
  EXPECT_EQ(target.device->queue(1)->requests, 0);
  session.queue->Close(CloseReason::kPeerReset);
  hog.Release();
  second->Run();
  EXPECT_EQ(target.device->queue(1)->requests, 1);
}

// One that drains takes what it was sent first; one that is reset will not take it, so others do
// not wait for it.
TYPED_TEST(TargetFlowDialectTest, AQueueThatStopsTakingCommandsLeavesTheLine) {
  for (const bool drain : {true, false}) {
    TargetHarness target(Buffered());
    TestSession<TypeParam> session(target);
    auto second = ConnectQueue<TypeParam>(target, session.instance_id, 1);
    FakeQueue* device = target.device->queue(0);
    device->hold = true;
    device->cancel_completes = false;
    session.queue->Send(RequestBytes<TypeParam>(0, kPayload, 600));
    auto hog = target.pool.Allocate(8u << 20);
    auto hog2 = target.pool.Allocate(4u << 20);
    session.queue->Send(RequestBytes<TypeParam>(1, kPayload, 7u << 19));
    ASSERT_TRUE(target.pool.has_waiters());
    if (drain) {
      session.queue->engine().endpoint().BeginDrain();
      session.queue->Run();
      EXPECT_FALSE(session.queue->closed());
      hog.Release();
      session.queue->Run();
      EXPECT_EQ(device->requests, 2);
      second->Send(RequestBytes<TypeParam>(1, kPayload, 600));
      EXPECT_EQ(target.device->queue(1)->requests, 1);
    } else {
      session.control->Send(CommandBytes<TypeParam>(SetStatusCommand(0)));
    }
    EXPECT_FALSE(target.pool.has_waiters());
    device->hold = false;
    session.queue->Run();
  }
}

TYPED_TEST(TargetFlowDialectTest, ASessionHoldsItsShareOfMemoryOnly) {
  TargetHarness target(Buffered(), {.max_session_bytes = 64u << 10});  // 32 KiB per queue
  TestSession<TypeParam> session(target);
  FakeQueue* device = target.device->queue(0);
  device->hold = true;
  for (uint16_t i = 0; i < 8; ++i) {
    session.queue->Send(RequestBytes<TypeParam>(i, std::string(8000, 'x'), 1));
  }
  EXPECT_EQ(device->requests, 2);
  EXPECT_FALSE(target.pool.has_waiters()) << "others need not wait for it";
  device->hold = false;
  session.queue->Run();
  EXPECT_EQ(device->requests, 8);
  session.queue->Send(RequestBytes<TypeParam>(9, std::string(100000, 'x'), 1));
  EXPECT_EQ(device->requests, 9) << "one request is always possible";
}

TYPED_TEST(TargetFlowDialectTest, MemoryComesBackWhenAConnectionIsCutInAnyState) {
  const auto request = RequestBytes<TypeParam>(1, std::string(3000, 'x'), 2000);
  for (size_t cut = 0; cut <= request.size(); cut += 13) {
    TargetHarness target(Buffered());
    TestSession<TypeParam> session(target);
    target.device->queue(0)->hold = true;
    session.queue->Send(std::span(request).first(cut));
    session.queue->Close(CloseReason::kPeerReset);
    session.queue->Run();
    ASSERT_TRUE(session.queue->finished());
    session.queue.reset();
    ASSERT_EQ(target.pool.in_use_bytes(), 0u) << cut;
  }
}

// --- Segments of `ref` (field failures 3, 4 and 15) ---

struct Descriptor {
  uint32_t length;
  uint16_t flags;
  uint16_t id;
};
std::vector<std::byte> Vring(uint16_t ndesc, const std::vector<Descriptor>& descriptors) {
  Command command;
  command.kind = CommandKind::kVq;
  command.command_id = 3;
  command.ndesc = ndesc;
  std::vector<std::byte> bytes = CommandBytes<Ref>(command);
  size_t readable = 0;
  for (const Descriptor& d : descriptors) {
    Segment segment;
    segment.length_bytes = d.length;
    segment.id = d.id;
    segment.writable = (d.flags & 2) != 0;
    segment.address = 0xdeadbeef;
    bytes.resize(bytes.size() + Ref::kDescriptorBytes);
    Ref::EncodeSegment(segment, std::span(bytes).last(Ref::kDescriptorBytes));
    if (!segment.writable) readable += d.length;
  }
  if (readable < 1u << 20) bytes.resize(bytes.size() + readable, std::byte{1});
  return bytes;
}

TEST(TargetSegmentsTest, WhatClosesTheQueue) {
  const std::vector<std::vector<Descriptor>> bad = {
      {{0, 0, 0}, {1, 2, 1}},  // a segment of nothing
      {{16, 0, 0}, {0, 2, 1}},
      {{16, 0, 0}, {8, 2, 1}, {8, 0, 2}},  // readable behind writable
      {{0xffffffff, 0, 0}, {1, 2, 1}},
      {{16, 0, 0}, {0xffffffff, 2, 1}, {0xffffffff, 2, 2}},  // wraps 32 bits
      {{0x80000000, 0, 0}, {0x80000010, 0, 1}, {1, 2, 2}},
      {{16, 0, 0}, {kMaxRequestBytes + 1, 2, 1}},
  };
  for (const auto& descriptors : bad) {
    TargetHarness target(Buffered());
    TestSession<Ref> session(target);
    session.queue->Send(Vring(static_cast<uint16_t>(descriptors.size()), descriptors));
    EXPECT_TRUE(session.queue->closed());
    EXPECT_FALSE(session.control->closed());
    EXPECT_EQ(target.pool.in_use_bytes(), 0u);
  }
  for (uint16_t ndesc : {0, kMaxSegments + 1, 0xffff}) {
    TargetHarness target(Buffered());
    TestSession<Ref> session(target);
    session.queue->Send(Vring(ndesc, {}));
    EXPECT_TRUE(session.queue->closed()) << ndesc;
  }
}

TEST(TargetSegmentsTest, ManySegmentsWithShuffledIdsAreEchoedInOrder) {
  for (const bool lends : {false, true}) {
    for (uint16_t count : {1, 3, 4, 130, 256, 515, kMaxSegments - 1}) {
      FakeDeviceOptions options = Buffered();
      options.lends_results = lends;
      options.max_answer_bytes = 100;  // most of it is not filled: zeros
      TargetHarness target(options);
      TestSession<Ref> session(target);
      std::vector<Descriptor> descriptors = {{16, 0, 999}};
      uint32_t total = 0;
      for (uint16_t i = 0; i < count; ++i) {
        const uint32_t length = 1 + i % 700;
        descriptors.push_back({length, 2, static_cast<uint16_t>(i * 7919)});
        total += length;
      }
      session.queue->Send(Vring(static_cast<uint16_t>(descriptors.size()), descriptors));
      auto received = session.queue->TakeReceived();
      const Completion completion = TakeCompletion<Ref>(received, CommandKind::kVq);
      ASSERT_EQ(completion.ndesc, count);
      ASSERT_EQ(completion.used_length, std::min(total, 100u));
      uint64_t offset = 0;
      for (uint16_t i = 0; i < count; ++i) {
        const Segment segment = Ref::DecodeSegment(
            std::span(received).subspan(i * Ref::kDescriptorBytes, Ref::kDescriptorBytes));
        ASSERT_EQ(segment.id, static_cast<uint16_t>(i * 7919));
        ASSERT_EQ(segment.length_bytes, 1u + i % 700);
        ASSERT_EQ(segment.address, offset);
        offset += segment.length_bytes;
      }
      const auto data = std::span(received).subspan(count * Ref::kDescriptorBytes);
      ASSERT_EQ(data.size(), total);
      const std::string expected = FakeAnswer(1, std::min(total, 100u));
      for (size_t i = 0; i < data.size(); ++i) {
        ASSERT_EQ(static_cast<char>(data[i]), i < expected.size() ? expected[i] : '\0') << i;
      }
    }
  }
}

}  // namespace
}  // namespace vof
