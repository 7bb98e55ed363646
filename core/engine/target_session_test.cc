// SPDX-License-Identifier: Apache-2.0
//
// Life and death of instances: tokens, fencing, exclusive use, lost queues, resets.
#include <memory>
#include <string>

#include "core/engine/testing/target_harness.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

const std::string kPayload = "\x21" + std::string(15, '.');

FakeDeviceOptions Holding() {
  FakeDeviceOptions options;
  options.completes_inline = false;
  return options;
}

Command ControlConnect() {
  Command command;
  command.instance_id = kControlInstanceId;
  return command;
}

Command QueueConnect(uint16_t instance, uint16_t index) {
  Command command;
  command.instance_id = instance;
  command.queue_index = index;
  return command;
}

// --- Token ---

TEST(TargetSessionTest, WithATokenEveryQueueNeedsIt) {
  TargetHarness target;
  auto control = ConnectControl<V5>(target, MakeBody("host", "disk", 5));
  const auto cause = [&](const ConnectBody& body, const std::string& address) {
    auto peer = target.NewPeer(address);
    return Connect<V5>(*peer, QueueConnect(0, 0), body).cause;
  };
  EXPECT_EQ(cause(MakeBody("host", "disk", 6), "192.0.2.1"), Cause::kNamesDiffer);
  EXPECT_EQ(cause(MakeBody("host", "disk", 0), "192.0.2.1"), Cause::kNamesDiffer);
  EXPECT_EQ(cause(MakeBody("most", "disk", 5), "192.0.2.1"), Cause::kNamesDiffer);
  EXPECT_EQ(cause(MakeBody("host", "disk", 5), "192.0.2.99"), Cause::kOk) << "the token proves it";
}

// Sixteen zero bytes are a valid Connect to somebody's instance 0 (field failure 22).
TEST(TargetSessionTest, SixteenZeroBytes) {
  const std::vector<std::byte> zeros(kHeaderBytes);
  for (uint8_t token : {0, 5}) {
    TargetHarness target;
    auto control = ConnectControl<V5>(target, MakeBody("host", "disk", token));
    auto stranger = target.NewPeer("192.0.2.66");
    stranger->Send(zeros);
    EXPECT_TRUE(stranger->closed());
    auto received = stranger->TakeReceived();
    EXPECT_EQ(TakeCompletion<V5>(received, CommandKind::kConnect).cause,
              token == 0 ? Cause::kAccess : Cause::kNamesDiffer);
    // The session's own virtqueue may leave its body out, but not when there is a token.
    auto own = target.NewPeer();
    own->Send(zeros);
    EXPECT_EQ(own->closed(), token != 0);
  }
}

TEST(TargetSessionTest, TokensAreEqualOnlyAsAWhole) {
  SessionToken a{};
  EXPECT_TRUE(EqualTokens(a, SessionToken{}));
  for (size_t i = 0; i < a.size(); ++i) {
    SessionToken b{};
    b[i] = std::byte{0x80};
    EXPECT_FALSE(EqualTokens(a, b)) << i;
  }
}

// --- Fencing ---

TEST(TargetSessionTest, TheSameSessionReplacesItselfAfterItsRequestsDrained) {
  TargetHarness target(Holding());
  const ConnectBody body = MakeBody("host", "disk", 5);
  TestSession<V5> old_session(target, 0, 0, body);
  FakeQueue* device = target.device->queue(0);
  device->hold = true;
  device->cancel_completes = false;
  old_session.queue->Send(RequestBytes<V5>(1, kPayload, 64));
  ASSERT_EQ(device->held(), 1u);

  auto renewed = target.NewPeer();
  renewed->Send(ConnectBytes<V5>(ControlConnect(), body));
  old_session.control->Run();
  old_session.queue->Run();
  EXPECT_TRUE(old_session.control->closed());
  EXPECT_TRUE(old_session.queue->closed());
  EXPECT_FALSE(old_session.queue->finished());
  renewed->Run();
  EXPECT_TRUE(renewed->received().empty()) << "an old write may still reach the store";

  device->CompleteNext();
  old_session.queue->Run();
  EXPECT_TRUE(old_session.queue->finished());
  old_session.control.reset();
  old_session.queue.reset();
  renewed->Run();
  auto received = renewed->TakeReceived();
  const Completion completion = TakeCompletion<V5>(received, CommandKind::kConnect);
  EXPECT_TRUE(completion.ok());
  EXPECT_NE(completion.instance_id, old_session.instance_id);
  EXPECT_EQ(target.directory.num_instances(), 1u);
}

TEST(TargetSessionTest, AnotherTokenOrNoneNeverFences) {
  TargetHarness target;
  TestSession<V5> session(target, 0, 0, MakeBody("host", "disk", 5));
  for (uint8_t token : {0, 6}) {
    auto other = target.NewPeer();
    const Completion completion =
        Connect<V5>(*other, ControlConnect(), MakeBody("host", "disk", token));
    EXPECT_EQ(completion.status, V5::ToWire(Cause::kExclusiveUse));
  }
  session.control->Run();
  EXPECT_FALSE(session.control->closed());
}

TEST(TargetSessionTest, WithoutATokenNothingIsFenced) {
  TargetHarness target;
  TestSession<V5> session(target);
  auto other = target.NewPeer();
  EXPECT_EQ(Connect<V5>(*other, ControlConnect()).status, V5::ToWire(Cause::kExclusiveUse));
  EXPECT_FALSE(session.control->closed());
}

TEST(TargetSessionTest, AFencerThatGoesAwayLeavesNothing) {
  TargetHarness target(Holding());
  const ConnectBody body = MakeBody("host", "disk", 5);
  TestSession<V5> session(target, 0, 0, body);
  FakeQueue* device = target.device->queue(0);
  device->hold = true;
  device->cancel_completes = false;
  session.queue->Send(RequestBytes<V5>(1, kPayload, 64));
  auto fencer = target.NewPeer();
  fencer->Send(ConnectBytes<V5>(ControlConnect(), body));
  fencer.reset();
  session.queue->Run();
  device->CompleteNext();
  session.queue->Run();
  session.control.reset();
  session.queue.reset();
  target.executor.RunAll();
  EXPECT_EQ(target.directory.num_instances(), 0u);
  EXPECT_EQ(target.directory.num_connections(), 0u);
}

TEST(TargetSessionTest, AWaitingFencerEndsAtTheHandshakeLimit) {
  TargetHarness target(Holding());
  const ConnectBody body = MakeBody("host", "disk", 5);
  TestSession<V5> session(target, 0, 0, body);
  FakeQueue* device = target.device->queue(0);
  device->hold = true;
  device->cancel_completes = false;
  session.queue->Send(RequestBytes<V5>(1, kPayload, 64));
  auto fencer = target.NewPeer();
  fencer->Send(ConnectBytes<V5>(ControlConnect(), body));
  target.now += kHandshakeTimeout;
  fencer->Run();
  EXPECT_TRUE(fencer->closed());
  session.queue->Run();
  device->CompleteNext();
  session.queue->Run();
}

// --- Exclusive use and sharing ---

TEST(TargetSessionTest, TheNextUserWaitsForOneThatIsLeaving) {
  TargetHarness target(Holding());
  auto session = std::make_unique<TestSession<V5>>(target);
  FakeQueue* device = target.device->queue(0);
  device->hold = true;
  device->cancel_completes = false;
  session->queue->Send(RequestBytes<V5>(1, kPayload, 64));
  session->control->Close();
  auto next = target.NewPeer();
  next->Send(ConnectBytes<V5>(ControlConnect(), MakeBody("next")));
  EXPECT_TRUE(next->received().empty());
  session->queue->Run();
  device->CompleteNext();
  session->queue->Run();
  session.reset();
  next->Run();
  EXPECT_EQ(next->received().size(), kHeaderBytes);
  EXPECT_FALSE(next->closed());
}

TEST(TargetSessionTest, AResetLetsGoOfTheDeviceInRef) {
  TargetHarness target;
  TestSession<Ref> session(target);
  auto next = target.NewPeer();
  const Command connect = ControlConnect();
  EXPECT_EQ(Connect<Ref>(*next, connect).status, Ref::ToWire(Cause::kExclusiveUse));
  // Its connections are still open when the next one comes.
  Call<Ref>(*session.control, SetStatusCommand(0));
  next = target.NewPeer();
  next->Send(ConnectBytes<Ref>(connect, MakeBody("next")));
  session.control->Run();
  session.queue->Run();
  EXPECT_TRUE(session.control->closed());
  session.queue.reset();
  session.control.reset();
  next->Run();
  std::vector<std::byte> received = next->TakeReceived();
  EXPECT_TRUE(TakeCompletion<Ref>(received, CommandKind::kConnect).ok());
}

TEST(TargetSessionTest, AResetKeepsTheDeviceInV5) {
  TargetHarness target;
  TestSession<V5> session(target);
  Command reset;
  reset.kind = CommandKind::kResetDevice;
  Call<V5>(*session.control, reset);
  auto next = target.NewPeer();
  EXPECT_EQ(Connect<V5>(*next, ControlConnect(), MakeBody("next")).status,
            V5::ToWire(Cause::kExclusiveUse));
}

TEST(TargetSessionTest, ASharedDeviceHasManyUsers) {
  FakeDeviceOptions options;
  options.shareable = true;
  TargetHarness target(options);
  TestSession<V5> one(target);
  TestSession<Ref> two(target, 0, 0, MakeBody("other"));
  EXPECT_EQ(target.directory.num_instances(), 2u);
  one.control.reset();
  one.queue->Run();
  EXPECT_TRUE(one.queue->closed());
  two.queue->Send(RequestBytes<Ref>(1, kPayload, 8));
  EXPECT_FALSE(two.queue->received().empty());
}

TEST(TargetSessionTest, RemovingADeviceEndsItsSessions) {
  TargetHarness target;
  TestSession<V5> session(target);
  ASSERT_TRUE(target.directory.RemoveDevice("disk").ok());
  session.control->Run();
  session.queue->Run();
  EXPECT_TRUE(session.control->closed());
  EXPECT_TRUE(session.queue->closed());
  auto peer = target.NewPeer();
  EXPECT_EQ(Connect<V5>(*peer, ControlConnect()).cause, Cause::kUnknownName);
  EXPECT_FALSE(target.directory.RemoveDevice("disk").ok());
}

// --- Lost queues (field failure 7) ---

template <typename C>
class TargetSessionDialectTest : public testing::Test {};
using Dialects = testing::Types<V5, Ref>;
TYPED_TEST_SUITE(TargetSessionDialectTest, Dialects);

TYPED_TEST(TargetSessionDialectTest, ALostVirtqueueTakesNothingWithIt) {
  TargetHarness target(Holding());
  TestSession<TypeParam> session(target);
  auto second = ConnectQueue<TypeParam>(target, session.instance_id, 1);
  FakeQueue* device = target.device->queue(0);
  device->hold = true;
  device->cancel_completes = false;
  session.queue->Send(RequestBytes<TypeParam>(1, kPayload, 64));
  session.queue->Close(CloseReason::kPeerReset);
  session.queue->Run();

  auto again = target.NewPeer();
  const Completion busy = Connect<TypeParam>(*again, QueueConnect(session.instance_id, 0));
  EXPECT_EQ(busy.status, TypeParam::ToWire(Cause::kQueueBusy)) << "its request has not drained";
  device->CompleteNext();
  session.queue->Run();
  EXPECT_TRUE(session.queue->finished());
  session.queue.reset();
  again = target.NewPeer();
  EXPECT_TRUE(Connect<TypeParam>(*again, QueueConnect(session.instance_id, 0)).ok());

  second->Send(RequestBytes<TypeParam>(1, kPayload, 8));
  EXPECT_FALSE(second->received().empty());
  EXPECT_FALSE(session.control->closed());
}

TYPED_TEST(TargetSessionDialectTest, LosingTheControlQueueEndsTheInstance) {
  TargetHarness target;
  TestSession<TypeParam> session(target);
  session.control->Close();
  session.queue->Run();
  EXPECT_TRUE(session.queue->closed());
  session.queue.reset();
  EXPECT_EQ(target.directory.num_instances(), 0u);
}

// --- Reset (field failure 8) ---

TYPED_TEST(TargetSessionDialectTest, AResetWaitsForRequestsInFlight) {
  TargetHarness target(Holding());
  TestSession<TypeParam> session(target);
  FakeQueue* device = target.device->queue(0);
  device->hold = true;
  device->cancel_completes = false;
  session.queue->Send(RequestBytes<TypeParam>(1, kPayload, 64));
  session.control->Send(CommandBytes<TypeParam>(SetStatusCommand(0, 8)));
  session.queue->Send(RequestBytes<TypeParam>(2, kPayload, 64));
  session.control->Run();
  EXPECT_TRUE(session.control->received().empty());
  EXPECT_EQ(device->cancels, 1);
  EXPECT_EQ(device->requests, 1) << "nothing new reaches the device";

  device->CompleteNext();
  session.queue->Run();
  session.control->Run();
  EXPECT_EQ(session.control->received().size(), kHeaderBytes);
  EXPECT_FALSE(session.queue->closed());
  EXPECT_FALSE(session.queue->received().empty()) << "the request in flight is answered";

  device->hold = false;
  session.queue->TakeReceived();
  for (uint32_t status : {1u, 3u, 11u, 15u}) {
    Call<TypeParam>(*session.control, SetStatusCommand(status));
  }
  session.queue->Send(RequestBytes<TypeParam>(3, kPayload, 8));
  EXPECT_FALSE(session.queue->received().empty()) << "the connection is used again";
  EXPECT_EQ(device->activations, 2);
}

TYPED_TEST(TargetSessionDialectTest, AResetThatTheDeviceIgnoresClosesTheQueue) {
  TargetHarness target(Holding());
  TestSession<TypeParam> session(target);
  FakeQueue* device = target.device->queue(0);
  device->hold = true;
  device->cancel_completes = false;
  session.queue->Send(RequestBytes<TypeParam>(1, kPayload, 64));
  session.control->Send(CommandBytes<TypeParam>(SetStatusCommand(0, 8)));
  session.queue->Run();
  target.now += kResetTimeout;
  session.queue->Run();
  EXPECT_TRUE(session.queue->closed());
  EXPECT_FALSE(session.queue->finished());
  session.control->Run();
  EXPECT_EQ(session.control->received().size(), kHeaderBytes);
  device->CompleteNext();
  session.queue->Run();
  EXPECT_TRUE(session.queue->finished());
}

TEST(TargetSessionTest, AResetClearsStatusAndFeaturesEvenWithPayloadHalfReceived) {
  TargetHarness target(Holding());
  TestSession<V5> session(target);
  const auto request = RequestBytes<V5>(1, std::string(5000, 'x'), 8);
  session.queue->Send(std::span(request).first(1000));
  Command reset;
  reset.kind = CommandKind::kResetDevice;
  reset.command_id = 4;
  session.control->Send(CommandBytes<V5>(reset));
  session.queue->Run();
  session.control->Run();
  session.queue->Send(std::span(request).subspan(1000));
  auto received = session.queue->TakeReceived();
  EXPECT_EQ(TakeCompletion<V5>(received, CommandKind::kVq).cause, Cause::kStatus);
  EXPECT_EQ(target.device->queue(0)->requests, 0);
}

// --- Draining ---

TYPED_TEST(TargetSessionDialectTest, DrainAnswersWhatIsInFlightThenCloses) {
  TargetHarness target(Holding());
  TestSession<TypeParam> session(target);
  FakeQueue* device = target.device->queue(0);
  device->hold = true;
  session.queue->Send(RequestBytes<TypeParam>(1, kPayload, 64));
  session.queue->engine().endpoint().BeginDrain();
  session.queue->Run();
  EXPECT_FALSE(session.queue->closed());
  device->CompleteNext();
  session.queue->Run();
  EXPECT_FALSE(session.queue->received().empty());
  EXPECT_TRUE(session.queue->closed());
  session.control->engine().endpoint().BeginDrain();
  session.control->Run();
  EXPECT_TRUE(session.control->closed());
}

}  // namespace
}  // namespace vof
