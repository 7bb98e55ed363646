// SPDX-License-Identifier: Apache-2.0
//
// Many Connects that fence each other: what they cost the target, who gets the session, and in
// which order they are answered.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/engine/target_directory.h"
#include "core/engine/testing/target_harness.h"

namespace vof {
namespace {

constexpr uint8_t kToken = 5;

FakeDeviceOptions Shareable() {
  FakeDeviceOptions options;
  options.shareable = true;
  return options;
}

// Control connections as the directory sees them; each is known by a number.
class TargetFencingTest : public testing::Test {
 protected:
  explicit TargetFencingTest(const FakeDeviceOptions& options = Shareable())
      : device_(std::make_shared<FakeDevice>(options)) {
    EXPECT_TRUE(directory_.AddDevice("disk", device_).ok());
  }

  void Ask(int who, const ConnectBody& body) {
    ConnectRequest request;
    request.body = body;
    tickets_[who] = directory_.ConnectControl(request, std::make_shared<QueueLink>(&executor_),
                                              [this, who](ControlGrant grant) {
                                                answered_.push_back(who);
                                                if (grant.place != nullptr)
                                                  places_[who] = grant.place;
                                                obstacles_[who] = grant.obstacle;
                                              });
    executor_.RunAll();
  }
  // The control queue of `who` has drained.
  void End(int who) {
    places_.erase(who);
    executor_.RunAll();
  }
  bool Has(int who) const { return places_.count(who) > 0; }
  std::vector<int> TakeAnswered() { return std::exchange(answered_, {}); }

  ManualExecutor executor_;
  TargetDirectory directory_;
  std::shared_ptr<FakeDevice> device_;
  std::map<int, uint64_t> tickets_;
  std::map<int, std::shared_ptr<ControlPlace>> places_;
  std::map<int, std::string> obstacles_;
  std::vector<int> answered_;
};

class ExclusiveFencingTest : public TargetFencingTest {
 protected:
  ExclusiveFencingTest() : TargetFencingTest(FakeDeviceOptions{}) {}
};

// What one initiator can send must not cost the target the square of it, nor grow with the number
// of other sessions.
TEST_F(TargetFencingTest, AStormOfOneSessionCostsAFewLooksEach) {
  constexpr int kOthers = 500, kStorm = 300;
  for (int i = 0; i < kOthers; ++i) Ask(i, MakeBody("other" + std::to_string(i), "disk", kToken));
  const uint64_t looks = directory_.num_looks();
  for (int i = 0; i < kStorm; ++i) Ask(kOthers + i, MakeBody("storm", "disk", kToken));
  for (int i = 0; i < kOthers + kStorm; ++i) End(i);
  EXPECT_LE(directory_.num_looks() - looks, 2u * kStorm);
  EXPECT_EQ(directory_.num_instances(), 0u);
}

TEST_F(TargetFencingTest, TheEndsOfOtherSessionsWakeNobody) {
  constexpr int kOthers = 100;
  for (int i = 0; i < kOthers; ++i) Ask(i, MakeBody("other" + std::to_string(i), "disk", kToken));
  Ask(1000, MakeBody("host", "disk", kToken));
  Ask(1001, MakeBody("host", "disk", kToken));
  const uint64_t looks = directory_.num_looks();
  for (int i = 0; i < kOthers; ++i) End(i);
  EXPECT_EQ(directory_.num_looks(), looks);
  End(1000);
  EXPECT_TRUE(Has(1001));
}

TEST_F(TargetFencingTest, TheNewestConnectOfASessionWaitsAlone) {
  const ConnectBody body = MakeBody("host", "disk", kToken);
  for (int who : {0, 1, 2, 3}) Ask(who, body);
  EXPECT_EQ(TakeAnswered(), (std::vector<int>{0, 1, 2})) << "refused as soon as a later one comes";
  EXPECT_TRUE(obstacles_[0].empty());
  for (int who : {1, 2}) EXPECT_EQ(obstacles_[who], "a later Connect of its session came");
  End(0);
  EXPECT_EQ(TakeAnswered(), std::vector<int>{3});
  EXPECT_TRUE(Has(3));
  EXPECT_EQ(directory_.num_instances(), 1u);
}

TEST_F(TargetFencingTest, SessionsThatDifferInAnythingDoNotMeet) {
  Ask(0, MakeBody("host", "disk", kToken));
  Ask(1, MakeBody("host", "disk", kToken + 1));
  Ask(2, MakeBody("most", "disk", kToken));
  Ask(3, MakeBody("host", "disk", 0));
  Ask(4, MakeBody("host", "disk", 0));
  for (int who : {0, 1, 2, 3, 4}) EXPECT_TRUE(Has(who)) << who;
}

TEST_F(TargetFencingTest, WhoseConnectionEndedGetsNoSession) {
  const ConnectBody body = MakeBody("host", "disk", kToken);
  Ask(0, body);
  Ask(1, body);
  directory_.Withdraw(tickets_[1]);
  directory_.Withdraw(tickets_[1]);
  End(0);
  EXPECT_EQ(directory_.num_instances(), 0u);
  EXPECT_EQ(TakeAnswered(), std::vector<int>{0});
  Ask(2, body);
  EXPECT_TRUE(Has(2));
}

// The connection of the one that waits ends, in every way that it can.
TEST(TargetFencingConnectionTest, AWaitingConnectionThatEndsIsForgottenAtOnce) {
  const ConnectBody body = MakeBody("host", "disk", kToken);
  Command connect;
  connect.instance_id = kControlInstanceId;
  for (const std::string how : {"closed", "destroyed", "drained", "late"}) {
    TargetHarness target(Shareable());
    auto session = ConnectControl<V5>(target, body);
    const uint16_t first_id = target.directory.Sessions().back().instance_id;
    auto later = target.NewPeer();
    later->Send(ConnectBytes<V5>(connect, body));
    if (how == "closed") later->Close();
    if (how == "destroyed") later.reset();
    if (how == "drained") later->engine().endpoint().BeginDrain();
    if (how == "late") {
      target.now += kHandshakeTimeout;
      later->Run();
    }
    session.reset();
    target.executor.RunAll();
    EXPECT_EQ(target.directory.num_instances(), 0u) << how;
    // Ids are given in turn: none was spent on it.
    auto next = ConnectControl<V5>(target, body);
    EXPECT_EQ(target.directory.Sessions().back().instance_id, first_id + 1) << how;
  }
}

TEST_F(TargetFencingTest, NobodyWaitsOrBeginsDuringADrain) {
  const ConnectBody body = MakeBody("host", "disk", kToken);
  Ask(0, body);
  Ask(1, body);
  TakeAnswered();
  directory_.BeginDrain();
  executor_.RunAll();
  Ask(2, MakeBody("other", "disk", kToken));
  EXPECT_EQ(TakeAnswered(), (std::vector<int>{1, 2}));
  for (int who : {1, 2}) EXPECT_EQ(obstacles_[who], "the target goes down");
  End(0);
  EXPECT_EQ(directory_.num_instances(), 0u);
}

TEST_F(TargetFencingTest, NobodyWaitsForADeviceThatIsRemoved) {
  const ConnectBody body = MakeBody("host", "disk", kToken);
  Ask(0, body);
  Ask(1, body);
  TakeAnswered();
  ASSERT_TRUE(directory_.RemoveDevice("disk").ok());
  executor_.RunAll();
  EXPECT_EQ(TakeAnswered(), std::vector<int>{1});
  EXPECT_FALSE(Has(1));
  // A session with another device of this name is another session.
  auto other_device = std::make_shared<FakeDevice>(Shareable());
  ASSERT_TRUE(directory_.AddDevice("disk", other_device).ok());
  Ask(2, body);
  EXPECT_TRUE(Has(2));
}

// --- Exclusive devices ---

TEST_F(ExclusiveFencingTest, TheFirstWhoAskedGetsTheDeviceAndTheOthersHearIt) {
  Ask(0, MakeBody("host", "disk", kToken));
  Ask(1, MakeBody("host", "disk", kToken));  // its own: that session leaves
  for (int who : {2, 3}) Ask(who, MakeBody("next" + std::to_string(who)));
  EXPECT_EQ(TakeAnswered(), std::vector<int>{0});
  End(0);
  EXPECT_EQ(TakeAnswered(), (std::vector<int>{1, 2, 3}));
  EXPECT_TRUE(Has(1));
  for (int who : {2, 3}) {
    EXPECT_FALSE(Has(who));
    EXPECT_EQ(obstacles_[who].find("the device is in exclusive use by session"), 0u);
  }
}

TEST_F(ExclusiveFencingTest, WaitingForAnExclusiveDeviceCostsAFewLooksEach) {
  constexpr int kWaiting = 300;
  Ask(0, MakeBody("host", "disk", kToken));
  Ask(1, MakeBody("host", "disk", kToken));
  const uint64_t looks = directory_.num_looks();
  for (int i = 0; i < kWaiting; ++i) Ask(10 + i, MakeBody("next"));  // without tokens
  EXPECT_EQ(answered_.size(), 1u);
  End(0);
  EXPECT_EQ(answered_.size(), 2u + kWaiting);
  EXPECT_LE(directory_.num_looks() - looks, 4u * (kWaiting + 1));
}

}  // namespace
}  // namespace vof
