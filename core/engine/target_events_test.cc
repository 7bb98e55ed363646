// SPDX-License-Identifier: Apache-2.0
#include "core/engine/target_events.h"

#include <memory>
#include <string>
#include <vector>

#include "core/engine/testing/target_harness.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

class TargetEventsTest : public testing::Test {
 protected:
  std::unique_ptr<RawPeer> NewPeer() {
    auto peer = target_.NewPeer("192.0.2.1");
    peer->engine().endpoint().set_observer(
        [this](const TargetEvent& event) { events_.push_back(event); });
    return peer;
  }
  std::unique_ptr<RawPeer> Control(const ConnectBody& body) {
    auto peer = NewPeer();
    Command command;
    command.instance_id = kControlInstanceId;
    Connect<V5>(*peer, command, body);
    return peer;
  }
  std::unique_ptr<RawPeer> Queue(uint16_t instance, uint16_t index, const ConnectBody& body) {
    auto peer = NewPeer();
    Command command;
    command.instance_id = instance;
    command.queue_index = index;
    Connect<V5>(*peer, command, body);
    return peer;
  }
  std::string LastLine() const { return DescribeTargetEvent(events_.back()); }

  TargetHarness target_;
  std::vector<TargetEvent> events_;
};

TEST_F(TargetEventsTest, ASessionFromItsBeginningToItsEnd) {
  auto control = Control(MakeBody("vqn.host", "disk", 1));
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(LastLine(), R"(session 0 of "disk" accepted: v5, from "vqn.host" at 192.0.2.1)");
  auto queue = Queue(0, 1, MakeBody("vqn.host", "disk", 1));
  EXPECT_EQ(LastLine(),
            R"(virtqueue 1 of session 0 of "disk" accepted: v5, from "vqn.host" at 192.0.2.1)");
  queue->Close();
  EXPECT_EQ(events_.back().kind, TargetEventKind::kQueueEnded);
  EXPECT_EQ(events_.back().end, EndCause::kPeerClosed);
  Command disconnect;
  disconnect.kind = CommandKind::kDisconnect;
  control->Send(CommandBytes<V5>(disconnect));
  EXPECT_EQ(events_.back().kind, TargetEventKind::kSessionEnded);
  EXPECT_EQ(events_.back().end, EndCause::kDisconnected);
  EXPECT_EQ(LastLine(),
            R"(session 0 of "disk" ended (disconnected): v5, from "vqn.host" at 192.0.2.1)");
}

// The wire has one number for "in use" and "limit"; the target's own report names the true cause.
TEST_F(TargetEventsTest, ARefusalNamesItsCause) {
  auto first = Control(MakeBody("a", "disk", 1));
  auto second = Control(MakeBody("b", "disk", 2));
  EXPECT_EQ(events_.back().cause, Cause::kExclusiveUse);
  EXPECT_EQ(LastLine(),
            "session of \"disk\" refused (the device is in exclusive use by session 0 of \"a\" at "
            "192.0.2.1): v5, from \"b\" at 192.0.2.1");
  auto unknown = Control(MakeBody("b", "dosk", 2));
  EXPECT_EQ(events_.back().cause, Cause::kUnknownName);
  EXPECT_NE(LastLine().find("of \"dosk\" refused (no device"), std::string::npos) << LastLine();
  auto index = Queue(0, 999, MakeBody("a", "disk", 1));
  EXPECT_EQ(events_.back().kind, TargetEventKind::kQueueRefused);
  EXPECT_EQ(events_.back().cause, Cause::kQueueIndex);
  auto stranger = Queue(0, 0, MakeBody("a", "disk", 7));
  EXPECT_EQ(events_.back().cause, Cause::kNamesDiffer);
}

TEST(TargetEventsLimitTest, ALimitIsNamedWithItsValue) {
  FakeDeviceOptions shared;
  shared.shareable = true;
  TargetHarness target(shared, {.max_instances = 1});
  std::string line;
  auto first = ConnectControl<V5>(target, MakeBody("a", "disk", 1));
  auto second = target.NewPeer();
  second->engine().endpoint().set_observer([&](const TargetEvent& event) {
    if (line.empty()) line = DescribeTargetEvent(event);
    EXPECT_EQ(event.cause,
              event.kind == TargetEventKind::kSessionRefused ? Cause::kLimit : Cause::kOk);
  });
  Command command;
  command.instance_id = kControlInstanceId;
  Connect<V5>(*second, command, MakeBody("b", "disk", 2));
  EXPECT_NE(line.find("the limit of 1 sessions is reached"), std::string::npos) << line;
}

TEST(TargetEventsLimitTest, AConnectionTooManyIsToldApartFromOthersUnused) {
  TargetHarness target({}, {.max_connections = 1});
  auto first = target.NewPeer();
  auto second = target.NewPeer();
  TargetEvent last;
  for (RawPeer* peer : {first.get(), second.get()}) {
    peer->engine().endpoint().set_observer([&](const TargetEvent& event) { last = event; });
  }
  second->Run();
  EXPECT_EQ(last.kind, TargetEventKind::kConnectionUnused);
  EXPECT_EQ(last.cause, Cause::kLimit);
  EXPECT_EQ(last.why, "the limit of 1 connections is reached");
  first->Close();
  EXPECT_EQ(last.kind, TargetEventKind::kConnectionUnused);
  EXPECT_EQ(last.cause, Cause::kOk);
}

TEST_F(TargetEventsTest, NamesCannotForgeLines) {
  auto peer = Control(MakeBody("x\nsession 1 of \"disk\" accepted\x1b[2J", "disk\r\n", 1));
  const std::string line = LastLine();
  for (const char c : line) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << line;
  EXPECT_NE(line.find(R"("x\nsession 1 of \"disk\" accepted\x1b[2J")"), std::string::npos) << line;
}

TEST_F(TargetEventsTest, WhatIsNoConnect) {
  auto garbage = NewPeer();
  garbage->Send(std::vector<std::byte>(16, std::byte{0xff}));
  EXPECT_EQ(events_.back().kind, TargetEventKind::kConnectionUnused);
  EXPECT_FALSE(events_.back().why.empty());
  auto silent = NewPeer();
  silent->Close();
  EXPECT_EQ(LastLine(),
            "connection from 192.0.2.1 ended without a queue (closed before a complete Connect)");
}

TEST_F(TargetEventsTest, TheEndOfAProtocolError) {
  auto control = Control(MakeBody("a", "disk", 1));
  Command again;
  again.instance_id = kControlInstanceId;
  control->Send(CommandBytes<V5>(again));
  EXPECT_EQ(events_.back().end, EndCause::kProtocol);
}

TEST(EndCauseTest, EachHasANameOfItsOwn) {
  for (size_t i = 0; i < kNumEndCauses; ++i) {
    for (size_t j = 0; j < i; ++j) {
      EXPECT_NE(EndCauseName(static_cast<EndCause>(i)), EndCauseName(static_cast<EndCause>(j)));
    }
  }
}

}  // namespace
}  // namespace vof
