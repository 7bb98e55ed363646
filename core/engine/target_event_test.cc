// SPDX-License-Identifier: Apache-2.0
//
// What a control queue does by itself or about many commands: events, keepalive, its limit, settled
// features.
#include <memory>
#include <string>
#include <vector>

#include "core/engine/testing/target_harness.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

Command Of(CommandKind kind, uint16_t id, uint64_t value = 0) {
  Command command;
  command.kind = kind;
  command.command_id = id;
  command.value = value;
  return command;
}

Command GetConfig(uint16_t id) {
  Command command = Of(CommandKind::kGetConfig, id);
  command.bytes = 1;
  return command;
}

// --- Configuration changes (field failure 16 at this level) ---

TEST(TargetEventTest, OneChangeEventUntilTheNextRead) {
  TargetHarness target;
  TestSession<V5> session(target);
  RawPeer& control = *session.control;
  control.TakeReceived();
  target.device->ChangeConfig(0, 1);
  target.device->ChangeConfig(0, 2);
  control.Run();
  auto received = control.TakeReceived();
  const Completion event = TakeCompletion<V5>(received, CommandKind::kGetConfig);
  EXPECT_EQ(event.command_id, kEventConfigChanged);
  EXPECT_EQ(event.generation, 2u);
  EXPECT_TRUE(received.empty()) << "one event is outstanding already";
  const Completion read = Call<V5>(control, GetConfig(5));
  EXPECT_EQ(read.value, 2u);
  EXPECT_EQ(read.generation, 2u);
  control.Run();
  EXPECT_TRUE(control.TakeReceived().empty());
  target.device->ChangeConfig(0, 3);
  control.Run();
  EXPECT_EQ(control.TakeReceived().size(), kHeaderBytes);
}

TEST(TargetEventTest, NoEventBeforeDriverOkNorForOnesOwnWrites) {
  TargetHarness target;
  auto control = ConnectControl<V5>(target);
  control->TakeReceived();
  target.device->ChangeConfig(0, 1);
  control->Run();
  EXPECT_TRUE(control->TakeReceived().empty());
  for (uint32_t status : {1u, 3u, 11u, 15u}) Call<V5>(*control, SetStatusCommand(status));
  Command write = Of(CommandKind::kSetConfig, 6, 9);
  write.offset = FakeDevice::kFirstWritableConfigByte;
  write.bytes = 1;
  EXPECT_TRUE(Call<V5>(*control, write).ok());
  control->Run();
  EXPECT_TRUE(control->TakeReceived().empty());
}

TEST(TargetEventTest, OtherUsersOfADeviceHearOfAWrite) {
  FakeDeviceOptions options;
  options.shareable = true;
  TargetHarness target(options);
  TestSession<V5> writer(target);
  TestSession<V5> other(target, 0, 0, MakeBody("other"));
  other.control->TakeReceived();
  Command write = Of(CommandKind::kSetConfig, 6, 9);
  write.offset = FakeDevice::kFirstWritableConfigByte;
  write.bytes = 1;
  Call<V5>(*writer.control, write);
  other.control->Run();
  EXPECT_EQ(other.control->TakeReceived().size(), kHeaderBytes);
  EXPECT_TRUE(writer.control->TakeReceived().empty());
}

TEST(TargetEventTest, RefAnswersGetConfigChangedWhenItChanges) {
  TargetHarness target;
  TestSession<Ref> session(target);
  for (RawPeer* peer : {session.control.get(), session.queue.get()}) {
    peer->TakeReceived();
    peer->Send(CommandBytes<Ref>(Of(CommandKind::kGetConfigChanged, 0x1234)));
    EXPECT_TRUE(peer->received().empty());
    // It holds up nothing else.
    peer->Send(CommandBytes<Ref>(Of(CommandKind::kGetDeviceId, 2)));
    EXPECT_EQ(peer->TakeReceived().size(), kHeaderBytes);
    target.device->ChangeConfig(0, 1);
    peer->Run();
    auto received = peer->TakeReceived();
    const Completion answer = TakeCompletion<Ref>(received, CommandKind::kGetConfigChanged);
    EXPECT_EQ(answer.command_id, 0x1234);
    EXPECT_EQ(answer.value, 1u);
    EXPECT_TRUE(received.empty());
    Call<Ref>(*peer, GetConfig(3));
  }
}

TEST(TargetEventTest, SubscriptionsEndWithTheirQueue) {
  TargetHarness target;
  auto session = std::make_unique<TestSession<V5>>(target);
  EXPECT_EQ(target.device->num_listeners(), 1u);
  session.reset();
  EXPECT_EQ(target.device->num_listeners(), 0u);
}

// --- Keepalive ---

TEST(TargetEventTest, ASilentInitiatorIsDroppedOnlyOnceItStatedAnInterval) {
  TargetHarness target;
  TestSession<V5> session(target);
  RawPeer& control = *session.control;
  target.now += 3600 * kNanosecondsPerSecond;
  control.Run();
  EXPECT_FALSE(control.closed());
  Command keepalive = Of(CommandKind::kKeepalive, 3);
  EXPECT_TRUE(Call<V5>(control, keepalive).ok());
  target.now += 3600 * kNanosecondsPerSecond;
  control.Run();
  EXPECT_FALSE(control.closed()) << "an interval of 0 is none";
  keepalive.interval_ms = 1000;
  EXPECT_TRUE(Call<V5>(control, keepalive).ok());
  target.now += kMissedKeepalives * kNanosecondsPerSecond - 1;
  control.Run();
  EXPECT_FALSE(control.closed());
  EXPECT_TRUE(Call<V5>(control, Of(CommandKind::kGetStatus, 4)).ok()) << "any command will do";
  target.now += kMissedKeepalives * kNanosecondsPerSecond;
  control.Run();
  EXPECT_TRUE(control.closed());
  session.queue->Run();
  EXPECT_TRUE(session.queue->closed());
}

TEST(TargetEventTest, IntervalsAreKeptWithinTheLimits) {
  TargetHarness target;
  TestSession<V5> session(target);
  Command keepalive = Of(CommandKind::kKeepalive, 3);
  keepalive.interval_ms = 1;
  Call<V5>(*session.control, keepalive);
  target.now += kMissedKeepalives * Milliseconds(kMinKeepaliveMs) - 1;
  session.control->Run();
  EXPECT_FALSE(session.control->closed());
  target.now += 1;
  session.control->Run();
  EXPECT_TRUE(session.control->closed());
}

// --- Many commands ---

TEST(TargetEventTest, MoreThanTheControlQueueHolds) {
  TargetHarness target;
  auto control = ConnectControl<V5>(target);
  control->TakeReceived();
  control->max_write_bytes = 0;  // the initiator has no answer yet
  for (uint16_t i = 0; i < kControlQueueSize + 3; ++i) {
    control->Send(CommandBytes<V5>(Of(CommandKind::kGetDeviceId, i)));
  }
  control->max_write_bytes = SIZE_MAX;
  control->Run();
  auto received = control->TakeReceived();
  for (uint16_t i = 0; i < kControlQueueSize + 3; ++i) {
    const Completion completion = TakeCompletion<V5>(received, CommandKind::kGetDeviceId);
    EXPECT_EQ(completion.command_id, i);
    EXPECT_EQ(completion.cause, i < kControlQueueSize ? Cause::kOk : Cause::kTooManyCommands);
  }
  EXPECT_TRUE(Call<V5>(*control, Of(CommandKind::kGetDeviceId, 1)).ok());
}

TEST(TargetEventTest, AnIdThatWaitsForItsAnswerIsTaken) {
  FakeDeviceOptions options;
  options.completes_inline = false;
  TargetHarness target(options);
  TestSession<V5> session(target);
  FakeQueue* device = target.device->queue(0);
  device->hold = true;
  device->cancel_completes = false;
  session.queue->Send(RequestBytes<V5>(1, std::string(16, '.'), 8));
  session.control->Send(CommandBytes<V5>(SetStatusCommand(0, 9)));
  session.control->Send(CommandBytes<V5>(Of(CommandKind::kGetStatus, 9)));
  EXPECT_TRUE(session.control->closed());
  device->CompleteNext();
  session.queue->Run();
}

// In `ref` order is all that tells answers apart: a pipelined command waits for the one before.
TEST(TargetEventTest, RefAnswersInOrder) {
  TargetHarness target;
  TestSession<Ref> session(target);
  session.control->TakeReceived();
  std::vector<std::byte> bytes = CommandBytes<Ref>(SetStatusCommand(0, 0));
  for (const Command& command :
       {Of(CommandKind::kGetStatus, 0), SetStatusCommand(1, 0), Of(CommandKind::kGetStatus, 0)}) {
    const auto one = CommandBytes<Ref>(command);
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  session.control->Send(bytes);
  session.queue->Run();
  session.control->Run();
  auto received = session.control->TakeReceived();
  ASSERT_EQ(received.size(), 4 * kHeaderBytes);
  TakeCompletion<Ref>(received, CommandKind::kSetStatus);
  EXPECT_EQ(TakeCompletion<Ref>(received, CommandKind::kGetStatus).value, 0u);
  TakeCompletion<Ref>(received, CommandKind::kSetStatus);
  EXPECT_EQ(TakeCompletion<Ref>(received, CommandKind::kGetStatus).value, 1u);
}

// --- Features and status ---

TEST(TargetEventTest, FeaturesAreSettledWhenTheyAreUsed) {
  TargetHarness target;
  TestSession<V5> session(target);
  RawPeer& control = *session.control;
  EXPECT_EQ(Call<V5>(control, Of(CommandKind::kSetDriverFeature, 2, 2)).cause, Cause::kStatus);
  const Command credit = Of(CommandKind::kSetFeature, 2, transport_feature::kCredit);
  EXPECT_EQ(Call<V5>(control, credit).cause, Cause::kFeature) << "a virtqueue has connected";
  EXPECT_EQ(Call<V5>(control, SetStatusCommand(11)).cause, Cause::kStatus) << "takes a bit back";
}

TEST(TargetEventTest, ADeviceMayRefuseAMixtureOfFeatures) {
  TargetHarness target;
  target.device->accepts_features = false;
  auto v5 = ConnectControl<V5>(target);
  EXPECT_EQ(Call<V5>(*v5, SetStatusCommand(11)).cause, Cause::kStatus);
  EXPECT_EQ(Call<V5>(*v5, Of(CommandKind::kGetStatus, 1)).value, 0u);
  v5.reset();
  auto ref = ConnectControl<Ref>(target);
  EXPECT_TRUE(Call<Ref>(*ref, SetStatusCommand(11)).ok());
  EXPECT_EQ(Call<Ref>(*ref, Of(CommandKind::kGetStatus, 1)).value, 3u) << "read back (virtio 1.3)";
}

TEST(TargetEventTest, TheDeviceLearnsTheDriversFeatures) {
  TargetHarness target;
  auto control = ConnectControl<V5>(target);
  auto queue = ConnectQueue<V5>(target, 0, 0);
  Call<V5>(*control, SetStatusCommand(3));
  Call<V5>(*control, Of(CommandKind::kSetDriverFeature, 2, kFeatureVersion1 | 4));
  for (uint32_t status : {11u, 15u}) Call<V5>(*control, SetStatusCommand(status));
  queue->Run();
  EXPECT_EQ(target.device->queue(0)->driver_features, kFeatureVersion1 | 4);
  auto late = ConnectQueue<V5>(target, 0, 1);
  EXPECT_EQ(target.device->queue(1)->driver_features, kFeatureVersion1 | 4);
}

TEST(TargetEventTest, NumQueuesNeedsItsBit) {
  TargetHarness target;
  auto control = ConnectControl<V5>(target);
  Call<V5>(*control, Of(CommandKind::kSetFeature, 2, transport_feature::kNumQueues));
  EXPECT_EQ(Call<V5>(*control, Of(CommandKind::kGetNumQueues, 3)).value, 2u);
}

TEST(TargetEventTest, BitsThatMakeNoSenseOverAFabricAreNotOffered) {
  FakeDeviceOptions options;
  options.features = ~uint64_t{0};
  TargetHarness target(options, {.ref_offers_version_1 = false});
  auto v5 = ConnectControl<V5>(target);
  EXPECT_EQ(Call<V5>(*v5, Of(CommandKind::kGetDeviceFeature, 2)).value, ~kFeaturesNeverOffered);
  v5.reset();
  auto ref = ConnectControl<Ref>(target);
  EXPECT_EQ(Call<Ref>(*ref, Of(CommandKind::kGetDeviceFeature, 2)).value,
            ~kFeaturesNeverOffered & ~kFeatureVersion1);
}

}  // namespace
}  // namespace vof
