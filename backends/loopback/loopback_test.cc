// SPDX-License-Identifier: Apache-2.0
//
// What is particular to the in-process fabric; the rest is in testing/conformance.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backends/loopback/faults.h"
#include "backends/loopback/loopback_backend.h"
#include "backends/loopback/loopback_stream.h"
#include "core/base/time.h"
#include "core/runtime/reactor.h"

namespace vof {
namespace {

using testing::HasSubstr;
using Bytes = std::vector<std::byte>;

template <typename S>
IoResult Write(S& stream, const Bytes& bytes) {
  const ConstBuffer buffer(bytes.data(), bytes.size());
  return stream.WriteSome(std::span<const ConstBuffer>(&buffer, 1));
}
template <typename S>
IoResult Read(S& stream, Bytes* bytes) {
  const MutableBuffer buffer(bytes->data(), bytes->size());
  return stream.ReadSome(std::span<const MutableBuffer>(&buffer, 1));
}

TEST(LoopbackStreamTest, RingHoldsExactlyItsCapacity) {
  auto [a, b] = MakeLoopbackPair({.capacity_bytes = 100});
  EXPECT_EQ(Write(a, Bytes(300)).bytes, 100u);
  EXPECT_EQ(Write(a, Bytes(1)).status, IoStatus::kAgain);
  Bytes into(30);
  EXPECT_EQ(Read(b, &into).bytes, 30u);
  EXPECT_EQ(Write(a, Bytes(300)).bytes, 30u);
}

TEST(LoopbackStreamTest, ResetLosesWhatIsUnderWay) {
  auto [a, b] = MakeLoopbackPair();
  Write(a, Bytes(10));
  a.Reset();
  Bytes into(10);
  const IoResult result = Read(b, &into);
  EXPECT_EQ(result.status, IoStatus::kError);
  EXPECT_EQ(result.error, ECONNRESET);
  EXPECT_EQ(Write(b, into).status, IoStatus::kError);
}

TEST(LoopbackStreamTest, ArmRefusesOnceForUnreadBytes) {
  auto [a, b] = MakeLoopbackPair();
  Write(a, Bytes(10));
  EXPECT_FALSE(b.Arm());
  EXPECT_TRUE(b.Arm()) << "a reader that does not want them may sleep";
  Write(a, Bytes(10));
  EXPECT_FALSE(b.Arm());
  Bytes into(5);
  Read(b, &into);
  EXPECT_FALSE(b.Arm()) << "a reader that took a part is not done";
}

TEST(LoopbackStreamTest, ArmSeesRoomForABlockedWriter) {
  auto [a, b] = MakeLoopbackPair({.capacity_bytes = 10});
  Write(a, Bytes(20));
  EXPECT_TRUE(a.Arm());
  Bytes into(10);
  Read(b, &into);
  EXPECT_FALSE(a.Arm());
  EXPECT_EQ(Write(a, Bytes(4)).bytes, 4u);
  EXPECT_TRUE(a.Arm());
}

class LoopbackBackendTest : public testing::Test {
 protected:
  LoopbackBackendTest() : reactor_(*Reactor::Create({})) {}
  absl::StatusOr<std::unique_ptr<Listener>> Listen(LoopbackBackend& backend, const char* uri) {
    return backend.Listen(*ParseUri(uri), reactor_.get(), [this](std::unique_ptr<Link> link) {
      accepted_.push_back(std::move(link));
    });
  }
  std::unique_ptr<Reactor> reactor_;
  std::vector<std::unique_ptr<Link>> accepted_;
};

TEST_F(LoopbackBackendTest, ConnectsByHostWithinItsUniverse) {
  LoopbackBackend universe;
  LoopbackBackend other;
  auto any = Listen(universe, "loop:///");
  auto named = Listen(universe, "loop://east/");
  ASSERT_TRUE(any.ok() && named.ok());
  EXPECT_TRUE(universe.Dial(*ParseUri("loop:///disk0"), 0).ok());
  EXPECT_TRUE(universe.Dial(*ParseUri("loop://east/disk0"), 0).ok());
  reactor_->RunOnce(0);
  EXPECT_EQ(accepted_.size(), 2u);
  EXPECT_EQ(accepted_[0]->peer().address, "loop");

  const auto nobody = universe.Dial(*ParseUri("loop://west/disk0"), 0);
  ASSERT_TRUE(absl::IsUnavailable(nobody.status()));
  EXPECT_THAT(std::string(nobody.status().message()), HasSubstr("loop://east/"));
  EXPECT_FALSE(other.Dial(*ParseUri("loop:///disk0"), 0).ok());
  EXPECT_TRUE(absl::IsAlreadyExists(Listen(universe, "loop://east/").status()));
  *named = nullptr;
  EXPECT_TRUE(Listen(universe, "loop://east/").ok());
}

TEST_F(LoopbackBackendTest, ListenerThatEndsDropsWhatWasUnderWay) {
  LoopbackBackend backend;
  auto listener = Listen(backend, "loop:///");
  auto link = backend.Dial(*ParseUri("loop:///d"), 0);
  ASSERT_TRUE(link.ok());
  *listener = nullptr;
  reactor_->RunOnce(0);
  EXPECT_TRUE(accepted_.empty());
  EXPECT_FALSE(backend.Dial(*ParseUri("loop:///d"), 0).ok());
}

TEST_F(LoopbackBackendTest, ListenerMayEndInItsOwnHandler) {
  LoopbackBackend backend;
  std::unique_ptr<Listener> listener;
  auto canary = std::make_shared<int>(7);  // goes with the handler
  int accepted = 0;
  auto opened = backend.Listen(*ParseUri("loop:///"), reactor_.get(),
                               [&listener, &accepted, canary](std::unique_ptr<Link>) {
                                 listener.reset();
                                 accepted += *canary;
                               });
  ASSERT_TRUE(opened.ok());
  listener = *std::move(opened);
  const auto first = backend.Dial(*ParseUri("loop:///d"), 0);
  const auto second = backend.Dial(*ParseUri("loop:///d"), 0);
  ASSERT_TRUE(first.ok() && second.ok());
  for (int i = 0; i < 10; ++i) reactor_->RunOnce(0);
  EXPECT_EQ(accepted, 7);
  EXPECT_FALSE(backend.Dial(*ParseUri("loop:///d"), 0).ok());
}

TEST_F(LoopbackBackendTest, DialsFromOtherThreads) {
  LoopbackBackend backend;
  auto listener = Listen(backend, "loop:///");
  std::vector<std::thread> dialers;
  for (int t = 0; t < 4; ++t) {
    dialers.emplace_back([&] {
      for (int i = 0; i < 50; ++i) EXPECT_TRUE(backend.Dial(*ParseUri("loop:///d"), 0).ok());
    });
  }
  const MonotonicTime give_up = DeadlineAfter(MonotonicNow(), 20 * kNanosecondsPerSecond);
  while (accepted_.size() < 200 && MonotonicNow() < give_up) reactor_->RunOnce(Milliseconds(1));
  for (std::thread& dialer : dialers) dialer.join();
  EXPECT_EQ(accepted_.size(), 200u);
}

TEST(FaultsTest, SameSeedSameFaults) {
  const auto run = [](uint64_t seed) {
    auto [a, b] = MakeLoopbackPair();
    FaultPlan plan{.seed = seed};
    plan.write.short_per_mille = 500;
    plan.write.again_per_mille = 200;
    FaultyStream<LoopbackStream> faulty(std::move(a), plan);
    std::vector<size_t> moved;
    for (int i = 0; i < 200; ++i) moved.push_back(Write(faulty, Bytes(100)).bytes);
    return moved;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST(FaultsTest, CutLetsExactlySoManyBytesThrough) {
  for (const CutKind kind : {CutKind::kReset, CutKind::kEnd}) {
    for (const uint64_t limit : {0u, 1u, 17u, 100u}) {
      auto [a, b] = MakeLoopbackPair();
      FaultPlan plan;
      plan.write.cut_after_bytes = limit;
      plan.write.cut_kind = kind;
      plan.write.largest_piece_bytes = 7;
      FaultyStream<LoopbackStream> faulty(std::move(a), plan);
      IoResult result;
      do {
        result = Write(faulty, Bytes(50));
      } while (result.status == IoStatus::kOk);
      EXPECT_EQ(result.status, kind == CutKind::kReset ? IoStatus::kError : IoStatus::kClosed);
      EXPECT_TRUE(faulty.was_cut());
      EXPECT_EQ(faulty.bytes_written(), limit);
      Bytes into(1000);
      if (limit > 0) {
        EXPECT_EQ(Read(b, &into).bytes, limit);
      }
      EXPECT_EQ(Read(b, &into).status, IoStatus::kClosed);
    }
  }
}

TEST(FaultsTest, CutOfReadingLeavesWriting) {
  auto [a, b] = MakeLoopbackPair();
  FaultPlan plan;
  plan.read.cut_after_bytes = 3;
  plan.read.cut_kind = CutKind::kEnd;
  FaultyStream<LoopbackStream> faulty(std::move(a), plan);
  Write(b, Bytes(10));
  Bytes into(10);
  EXPECT_EQ(Read(faulty, &into).bytes, 3u);
  EXPECT_EQ(Read(faulty, &into).status, IoStatus::kClosed);
  EXPECT_EQ(Write(faulty, Bytes(5)).bytes, 5u);
}

TEST(FaultsTest, DelaysRunOnTheClockHandedIn) {
  MonotonicTime now = 1000;
  auto [a, b] = MakeLoopbackPair();
  FaultPlan plan;
  plan.read.delay_per_mille = 1000;
  plan.read.longest_delay = 500;
  FaultyStream<LoopbackStream> faulty(std::move(a), plan, [&now] { return now; });
  Write(b, Bytes(10));
  EXPECT_EQ(faulty.NextEvent(), kInfiniteFuture);
  Bytes into(10);
  EXPECT_EQ(Read(faulty, &into).status, IoStatus::kAgain);
  EXPECT_FALSE(faulty.Arm());
  EXPECT_GT(faulty.NextEvent(), now);
  EXPECT_LE(faulty.NextEvent(), now + 500);
  now = faulty.NextEvent();
  EXPECT_EQ(Read(faulty, &into).bytes, 10u);
  EXPECT_EQ(faulty.NextEvent(), kInfiniteFuture);
}

TEST_F(LoopbackBackendTest, FaultPlanAppliesToDialledConnections) {
  uint64_t asked = 0;
  LoopbackBackend backend({}, [&asked](uint64_t nth) {
    asked = nth + 1;
    return FaultPlan{.seed = nth};
  });
  auto listener = Listen(backend, "loop:///");
  EXPECT_TRUE(backend.Dial(*ParseUri("loop:///d"), 0).ok());
  EXPECT_TRUE(backend.Dial(*ParseUri("loop:///d"), 0).ok());
  EXPECT_EQ(asked, 2u);
}

}  // namespace
}  // namespace vof
