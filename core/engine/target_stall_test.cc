// SPDX-License-Identifier: Apache-2.0
//
// Peers that hold memory and stop: half a payload, answers nobody reads.
#include <memory>
#include <string>
#include <vector>

#include "core/engine/stall_watch.h"
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
