// SPDX-License-Identifier: Apache-2.0
//
// Peers that hold memory and stop: half a payload, answers nobody reads.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "core/engine/stall_watch.h"
#include "core/engine/target_stream.h"
#include "core/engine/testing/target_harness.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

const std::string kPayload = "\x05" + std::string(15, '.');

FakeDeviceOptions Buffered() {
  FakeDeviceOptions options;
  options.completes_inline = false;
  return options;
}

FakeDeviceOptions Shared() {
  FakeDeviceOptions options = Buffered();
  options.shareable = true;
  return options;
}

using Sessions = std::vector<std::unique_ptr<TestSession<V5>>>;

// So many sessions, tokens from 1 on, that have each sent the beginning of a request.
Sessions Begin(TargetHarness& target, uint8_t count, std::span<const std::byte> beginning) {
  Sessions sessions;
  for (uint8_t token = 1; token <= count; ++token) {
    sessions.push_back(
        std::make_unique<TestSession<V5>>(target, 0, 0, MakeBody("slow", "disk", token)));
    sessions.back()->queue->Send(beginning);
  }
  return sessions;
}

TEST(StallWatchTest, OnlyDebtWithoutProgressExpires) {
  StallWatch watch(10);
  watch.Update(false, 0, 100);
  EXPECT_EQ(watch.deadline(), kInfiniteFuture);
  watch.Update(true, 0, 100);
  EXPECT_EQ(watch.deadline(), 110);
  watch.Update(true, 0, 105);
  EXPECT_EQ(watch.deadline(), 110);
  watch.Update(true, 1, 109);
  EXPECT_FALSE(watch.Expired(118));
  EXPECT_TRUE(watch.Expired(119));
  watch.Update(false, 1, 119);
  EXPECT_FALSE(watch.Expired(200));
}

TEST(StallWatchTest, WhoKeepsOthersWaitingMustMoveMore) {
  StallWatch watch(10);
  const StallRule strict{1000, kInfiniteFuture};
  watch.Update(true, 0, 100, strict);
  for (int i = 1; i < 10; ++i) watch.Update(true, static_cast<uint64_t>(i), 100 + i, strict);
  EXPECT_TRUE(watch.Expired(110)) << "a byte now and then is no progress";
  watch.Update(true, 1000, 109, strict);
  EXPECT_FALSE(watch.Expired(118));
  watch.Update(true, 1001, 110, strict);
  EXPECT_TRUE(watch.Expired(119)) << "counted from the last progress";
  watch.Update(true, 1001, 111, {1, 3});
  EXPECT_EQ(watch.deadline(), 114) << "the shorter of both time-outs";
  watch.Update(true, 1001, 112);
  watch.Update(true, 1002, 112);
  EXPECT_FALSE(watch.Expired(121)) << "nobody waits any more: any byte counts";
}

// What cannot be answered is kept, on every connection.
TEST(TargetStallTest, AControlQueueReceivesLittleAtATime) {
  TargetHarness target(Shared());
  const TestSession<V5> session(target);
  std::vector<std::byte> scratch(256u << 10);
  const auto room = [&scratch](RawPeer& peer) {
    std::array<MutableBuffer, 2> into;
    const int count = peer.engine().PrepareRead({scratch.data(), scratch.size()}, into);
    size_t bytes = 0;
    for (int i = 0; i < count; ++i) bytes += into[static_cast<size_t>(i)].size_bytes;
    return bytes;
  };
  EXPECT_EQ(room(*session.control), kControlReadBytes);
  EXPECT_EQ(room(*session.queue), scratch.size());
}

TEST(TargetStallTest, ATrickleHoldsNoMemoryThatOthersWaitFor) {
  TargetHarness target(Shared());
  const std::vector<std::byte> large = RequestBytes<V5>(1, std::string(4u << 20, 'x'), 1);
  const Sessions slow = Begin(target, 2, std::span(large).first(1000));
  ASSERT_EQ(target.pool.in_use_bytes(), kMinPoolBytes);
  size_t sent = 1000;
  const auto trickle = [&](int times) {
    for (int i = 0; i < times; ++i, ++sent) {
      target.now += kContendedStallTimeout / 3;
      for (const auto& session : slow) {
        if (!session->queue->closed()) session->queue->Send(std::span(large).subspan(sent, 1));
      }
    }
  };
  trickle(12);
  for (const auto& session : slow) EXPECT_FALSE(session->queue->closed()) << "nobody waits";
  TestSession<V5> other(target, 0, 0, MakeBody("other", "disk", 3));
  other.queue->Send(RequestBytes<V5>(1, kPayload, 1));
  EXPECT_TRUE(other.queue->received().empty());
  trickle(4);
  other.queue->Run();
  EXPECT_EQ(other.queue->received().size(), kHeaderBytes + 1);
  for (const auto& session : slow) EXPECT_TRUE(session->queue->closed());
}

// Nothing of the fabric wakes those that hang: they look by themselves whether others wait by now.
TEST(TargetStallTest, WhoHungBeforeOthersWaitedIsCutOffInTime) {
  TargetHarness target(Shared());
  const std::vector<std::byte> large = RequestBytes<V5>(1, std::string(4u << 20, 'x'), 1);
  const Sessions hanging = Begin(target, 2, std::span(large).first(1000));
  TestSession<V5> other(target, 0, 0, MakeBody("other", "disk", 9));
  target.now += kNanosecondsPerSecond;
  other.queue->Send(RequestBytes<V5>(1, kPayload, 1));
  ASSERT_TRUE(other.queue->received().empty());
  const MonotonicTime asked = target.now;
  while (other.queue->received().empty() && target.now - asked < 60 * kNanosecondsPerSecond) {
    target.now += 100 * kNanosecondsPerMillisecond;
    for (const auto& session : hanging) {
      if (target.now >= session->queue->engine().NextDeadline()) session->queue->Run();
    }
    other.queue->Run();
  }
  EXPECT_LE(target.now - asked, kContendedStallTimeout);
}

// Forty that hang, a pool with room for two of them: who comes behind them is served before an
// initiator's time-out is over.
TEST(TargetStallTest, ManyThatHangDoNotKeepOneOutForLong) {
  TargetHarness target(Shared());
  const std::vector<std::byte> large = RequestBytes<V5>(1, std::string(4u << 20, 'x'), 1);
  const Sessions hanging = Begin(target, 40, std::span(large).first(kHeaderBytes + 16));
  ASSERT_TRUE(target.pool.has_waiters());
  TestSession<V5> other(target, 0, 0, MakeBody("other", "disk", 99));
  other.queue->Send(RequestBytes<V5>(1, kPayload, 1));
  const MonotonicTime asked = target.now;
  while (other.queue->received().empty() && target.now - asked < 60 * kNanosecondsPerSecond) {
    target.now += 100 * kNanosecondsPerMillisecond;
    for (const auto& session : hanging) session->queue->Run();
    other.queue->Run();
  }
  EXPECT_EQ(other.queue->received().size(), kHeaderBytes + 1);
  EXPECT_LE(target.now - asked, 21 * kNanosecondsPerSecond);
}

TEST(StallWatchTest, TheMoreWaitTheShorter) {
  constexpr uint64_t kPool = 16u << 20;
  constexpr StallRule few = ContendedStallRule(1u << 20, 4096, kPool);
  EXPECT_EQ(few.timeout, kContendedStallTimeout);
  EXPECT_EQ(few.required_bytes, kStallProgressBytes);
  EXPECT_EQ(ContendedStallRule(100, 4096, kPool).required_bytes, 100u);
  constexpr StallRule many = ContendedStallRule(1u << 20, 3 * kPool, kPool);
  EXPECT_EQ(many.timeout, kContendedStallTimeout / 4);
  EXPECT_EQ(many.required_bytes, kStallProgressBytes / 4);
  EXPECT_EQ(ContendedStallRule(1, 1000 * kPool, kPool).timeout, kMinContendedStallTimeout);
}

TEST(TargetStallTest, HalfAPayloadGivesItsMemoryBackAfterTheTimeOut) {
  TargetHarness target(Buffered());
  TestSession<V5> session(target);
  std::vector<std::byte> request = RequestBytes<V5>(1, std::string(1u << 20, 'x'), 1);
  request.resize(request.size() / 2);
  session.queue->Send(request);
  EXPECT_GT(target.pool.in_use_bytes(), 1u << 20);
  target.now += kStallTimeout - 1;
  session.queue->Run();
  EXPECT_FALSE(session.queue->closed());
  target.now += 1;
  session.queue->Run();
  EXPECT_TRUE(session.queue->closed());
  EXPECT_EQ(target.pool.in_use_bytes(), 0u);
  EXPECT_FALSE(session.control->closed());
}

TEST(TargetStallTest, ASlowPayloadIsNoStall) {
  TargetHarness target(Buffered());
  TestSession<V5> session(target);
  const std::vector<std::byte> request = RequestBytes<V5>(1, std::string(64u << 10, 'x'), 1);
  const std::span<const std::byte> bytes(request);
  for (size_t at = 0; at < bytes.size(); at += 8192) {
    session.queue->Send(bytes.subspan(at, std::min<size_t>(8192, bytes.size() - at)));
    target.now += kStallTimeout - 1;
    session.queue->Run();
  }
  EXPECT_EQ(session.queue->received().size(), kHeaderBytes + 1);
}

TEST(TargetStallTest, AnswersThatNobodyReadEndTheQueue) {
  TargetHarness target(Buffered());
  TestSession<V5> session(target);
  session.queue->max_write_bytes = 0;
  session.queue->Send(RequestBytes<V5>(1, kPayload, 1u << 20));
  EXPECT_GT(target.pool.in_use_bytes(), 1u << 20);
  target.now += kStallTimeout;
  session.queue->Run();
  EXPECT_TRUE(session.queue->closed());
  EXPECT_EQ(target.pool.in_use_bytes(), 0u);
}

TEST(TargetStallTest, AnIdleSessionIsLeftAlone) {
  TargetHarness target(Buffered());
  TestSession<V5> session(target);
  session.queue->Send(RequestBytes<V5>(1, kPayload, 1));
  target.now += 100 * kStallTimeout;
  session.queue->Run();
  session.control->Run();
  EXPECT_FALSE(session.queue->closed());
  EXPECT_FALSE(session.control->closed());
}

}  // namespace
}  // namespace vof
