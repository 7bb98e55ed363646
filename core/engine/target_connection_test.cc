// SPDX-License-Identifier: Apache-2.0
#include "core/engine/target_connection.h"

#include <memory>
#include <string>
#include <vector>

#include "core/engine/testing/target_harness.h"
#include "core/wire/test_bytes.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

constexpr uint16_t kControl = kControlInstanceId;

Command ControlConnect(uint16_t id = 1) {
  Command command;
  command.command_id = id;
  command.instance_id = kControl;
  return command;
}

Command QueueConnect(uint16_t instance, uint16_t index, uint16_t size = 0) {
  Command command;
  command.command_id = 2;
  command.instance_id = instance;
  command.queue_index = index;
  command.queue_size = size;
  return command;
}

template <typename C>
class TargetConnectionTest : public testing::Test {};
using Dialects = testing::Types<V5, Ref>;
TYPED_TEST_SUITE(TargetConnectionTest, Dialects);

// Field failure 1.
TYPED_TEST(TargetConnectionTest, OpenAndCloseLeaveNothing) {
  TargetHarness target;
  for (int i = 0; i < 1000; ++i) {
    auto silent = target.NewPeer();
    silent->Close();
    auto short_peer = target.NewPeer();
    short_peer->Send(Bytes("00000100ffffff"));
    short_peer->Close(CloseReason::kPeerReset);
    EXPECT_TRUE(short_peer->finished());
  }
  EXPECT_EQ(target.directory.num_connections(), 0u);
  EXPECT_EQ(target.directory.num_instances(), 0u);
}

TYPED_TEST(TargetConnectionTest, HalfOpenEndsAtTheHandshakeLimit) {
  TargetHarness target;
  const auto bytes = ConnectBytes<TypeParam>(ControlConnect(), MakeBody());
  auto peer = target.NewPeer();
  peer->Send(std::span(bytes).first(bytes.size() - 1));
  target.now += kHandshakeTimeout - 1;
  peer->Run();
  EXPECT_FALSE(peer->closed());
  target.now += 1;
  peer->Run();
  EXPECT_TRUE(peer->closed());
  EXPECT_TRUE(peer->received().empty());
}

TYPED_TEST(TargetConnectionTest, ConnectSplitAtEveryByte) {
  const auto bytes = ConnectBytes<TypeParam>(ControlConnect(), MakeBody());
  for (size_t cut = 1; cut < bytes.size(); ++cut) {
    TargetHarness target;
    auto peer = target.NewPeer();
    peer->Send(std::span(bytes).first(cut));
    ASSERT_TRUE(peer->received().empty()) << cut;
    peer->Send(std::span(bytes).subspan(cut));
    ASSERT_EQ(peer->received().size(), kHeaderBytes) << cut;
  }
}

TYPED_TEST(TargetConnectionTest, BytesBehindTheConnectAreNotLost) {
  TargetHarness target;
  auto bytes = ConnectBytes<TypeParam>(ControlConnect(), MakeBody());
  Command command;
  command.kind = CommandKind::kGetDeviceId;
  const auto more = CommandBytes<TypeParam>(command);
  bytes.insert(bytes.end(), more.begin(), more.end());
  auto peer = target.NewPeer();
  peer->Send(bytes);
  EXPECT_EQ(peer->received().size(), 2 * kHeaderBytes);
}

TYPED_TEST(TargetConnectionTest, AnswersCarryInstanceAndEpoch) {
  TargetHarness target;
  auto peer = target.NewPeer();
  const Completion completion = Connect<TypeParam>(*peer, ControlConnect(9));
  EXPECT_TRUE(completion.ok());
  EXPECT_EQ(completion.command_id, 9);
  EXPECT_EQ(completion.instance_id, 0);
  EXPECT_EQ(completion.epoch, TypeParam::kDialect == Dialect::kV5 ? 7u : 0u);
}

TYPED_TEST(TargetConnectionTest, CausesOfRefusal) {
  FakeDeviceOptions options;
  options.max_queue_size = 128;
  TargetHarness target(options);
  DeviceOptions closed_device;
  closed_device.access = [](const PeerIdentity&, std::string_view, std::string_view) {
    return false;
  };
  auto secret = std::make_shared<FakeDevice>();
  ASSERT_TRUE(target.directory.AddDevice("secret", secret, closed_device).ok());
  const auto status = [&](const Command& command, const ConnectBody& body) {
    auto peer = target.NewPeer();
    const Completion completion = Connect<TypeParam>(*peer, command, body);
    EXPECT_TRUE(peer->closed()) << "refused, so closed after the answer";
    return completion.status;
  };
  const auto wire = [](Cause cause) { return TypeParam::ToWire(cause); };
  EXPECT_EQ(status(ControlConnect(), MakeBody("host", "nobody")), wire(Cause::kUnknownName));
  EXPECT_EQ(status(ControlConnect(), MakeBody("host", "secret")), wire(Cause::kAccess));
  auto control = ConnectControl<TypeParam>(target);
  EXPECT_EQ(status(ControlConnect(), MakeBody("other")), wire(Cause::kExclusiveUse));
  EXPECT_EQ(status(QueueConnect(77, 0), MakeBody()), wire(Cause::kNoInstance));
  EXPECT_EQ(status(QueueConnect(0, 0), MakeBody("other")), wire(Cause::kNamesDiffer));
  EXPECT_EQ(status(QueueConnect(0, 2), MakeBody()), wire(Cause::kQueueIndex));
  if (TypeParam::kDialect == Dialect::kV5) {
    EXPECT_EQ(status(QueueConnect(0, 0, 129), MakeBody()), wire(Cause::kQueueSize));
  }
  auto queue = ConnectQueue<TypeParam>(target, 0, 0);
  EXPECT_EQ(status(QueueConnect(0, 0), MakeBody()), wire(Cause::kQueueBusy));
  target.device->open_fails = true;
  EXPECT_EQ(status(QueueConnect(0, 1), MakeBody()), wire(Cause::kLimit));
  target.device->open_fails = false;
  target.device->open_lacks_memory = true;
  EXPECT_EQ(status(QueueConnect(0, 1), MakeBody()), wire(Cause::kLimit));
  target.device->open_lacks_memory = false;
  auto other = ConnectQueue<TypeParam>(target, 0, 1);
  EXPECT_FALSE(other->closed()) << "a failed opening gives the index back";
}

TYPED_TEST(TargetConnectionTest, LimitsOnInstancesAndConnections) {
  FakeDeviceOptions options;
  options.shareable = true;
  TargetHarness target(options, {.max_instances = 2, .max_connections = 3});
  auto first = ConnectControl<TypeParam>(target);
  auto second = ConnectControl<TypeParam>(target);
  auto third = target.NewPeer();
  const Completion completion = Connect<TypeParam>(*third, ControlConnect());
  EXPECT_EQ(completion.status, TypeParam::ToWire(Cause::kLimit));
  auto fourth = target.NewPeer();
  fourth->Run();
  EXPECT_TRUE(fourth->closed());
  third.reset();
  first.reset();
  auto fifth = ConnectControl<TypeParam>(target);
  EXPECT_FALSE(fifth->closed());
}

TYPED_TEST(TargetConnectionTest, QueuesPerInstanceAreLimited) {
  FakeDeviceOptions options;
  options.num_queues = 8;
  TargetHarness target(options, {.max_queues_per_instance = 2});
  auto control = ConnectControl<TypeParam>(target);
  auto peer = target.NewPeer();
  const Completion completion = Connect<TypeParam>(*peer, QueueConnect(0, 2), MakeBody());
  EXPECT_EQ(completion.status, TypeParam::ToWire(Cause::kQueueIndex));
}

TYPED_TEST(TargetConnectionTest, ConnectTwiceCloses) {
  TargetHarness target;
  auto control = ConnectControl<TypeParam>(target);
  control->Send(ConnectBytes<TypeParam>(ControlConnect(), MakeBody()));
  EXPECT_TRUE(control->closed());
  EXPECT_EQ(target.directory.num_instances(), 0u);
}

// Field failure 3.
TYPED_TEST(TargetConnectionTest, NamesWithoutNulAreRefused) {
  for (size_t field : {kInitiatorNameOffset, kTargetNameOffset}) {
    TargetHarness target;
    auto bytes = ConnectBytes<TypeParam>(ControlConnect(), MakeBody());
    const size_t body = bytes.size() - kConnectBodyBytes;
    std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(body + field), kVqnFieldBytes,
                std::byte{'a'});
    auto peer = target.NewPeer();
    peer->Send(bytes);
    EXPECT_TRUE(peer->closed());
    EXPECT_TRUE(peer->received().empty());
  }
}

TYPED_TEST(TargetConnectionTest, AStrangersVirtqueueIsRefused) {  // field failure 22
  TargetHarness target;
  auto control = ConnectControl<TypeParam>(target);
  auto stranger = target.NewPeer("192.0.2.66");
  const Completion completion = Connect<TypeParam>(*stranger, QueueConnect(0, 0));
  EXPECT_EQ(completion.status, TypeParam::ToWire(Cause::kAccess));
  EXPECT_TRUE(stranger->closed());
}

// A virtqueue of another dialect is not let in, and does not learn whose instance it guessed.
TEST(TargetConnectionDialectTest, ADialectPerInstance) {
  TargetHarness target;
  auto control = ConnectControl<V5>(target);
  auto peer = target.NewPeer();
  const Completion completion = Connect<Ref>(*peer, QueueConnect(0, 0));
  EXPECT_EQ(completion.status, Ref::ToWire(Cause::kNoInstance));
}

// Field failure 2: whatever comes instead of a Connect, in every opcode.
TEST(TargetConnectionDialectTest, AnyOpcodeBeforeConnectCloses) {
  TargetHarness target;
  for (uint32_t opcode = 1; opcode < 0x10000; opcode += opcode < 0x110 ? 1 : 13) {
    auto peer = target.NewPeer();
    std::vector<std::byte> bytes(64);
    bytes[0] = static_cast<std::byte>(opcode);
    bytes[1] = static_cast<std::byte>(opcode >> 8);
    peer->Send(bytes);
    ASSERT_TRUE(peer->closed()) << opcode;
    ASSERT_TRUE(peer->received().empty()) << opcode;
  }
}

TEST(TargetConnectionDialectTest, LengthsThatNoDialectHasClose) {
  for (const char* length : {"ffffffff", "01040000", "ff030000", "02000000", "0004ffff"}) {
    TargetHarness target;
    auto peer = target.NewPeer();
    peer->Send(Bytes(std::string("00000100ffff0000") + length + "00000000"));
    EXPECT_TRUE(peer->closed()) << length;
  }
}

TEST(TargetConnectionDialectTest, RefDescriptorLengthAndTransmission) {
  for (uint32_t length : {0u, 1023u, 1025u, 0xffffffffu}) {
    TargetHarness target;
    auto bytes = ConnectBytes<Ref>(ControlConnect(), MakeBody());
    Segment segment;
    segment.length_bytes = length;
    Ref::EncodeSegment(segment, std::span(bytes).subspan(kHeaderBytes));
    auto peer = target.NewPeer();
    peer->Send(bytes);
    EXPECT_TRUE(peer->closed()) << length;
    EXPECT_TRUE(peer->received().empty()) << length;
  }
  TargetHarness target;
  auto bytes = ConnectBytes<Ref>(ControlConnect(), MakeBody());
  bytes[10] = std::byte{1};  // oftype: keyed, on a stream
  auto peer = target.NewPeer();
  peer->Send(bytes);
  EXPECT_TRUE(peer->closed());
}

}  // namespace
}  // namespace vof
