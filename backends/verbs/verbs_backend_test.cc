// SPDX-License-Identifier: Apache-2.0
//
// Listening and dialling, on a device in memory.
#include "backends/verbs/verbs_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "backends/common/socket_address.h"
#include "backends/verbs/testing/fake_verbs.h"
#include "core/base/time.h"
#include "core/runtime/reactor.h"

namespace vof {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class VerbsBackendTest : public testing::Test {
 protected:
  void SetUp() override { reactor_ = *Reactor::Create({.pool_bytes = kMinPoolBytes}); }
  void TearDown() override {
    accepted_.clear();
    listener_.reset();
    EXPECT_EQ(fake_->LiveObjects(), "");
    EXPECT_EQ(fake_->Misuse(), "");
  }
  std::unique_ptr<VerbsBackend> Make(const VerbsOptions& options = {},
                                     const Resolver& resolver = SystemResolver()) {
    return std::make_unique<VerbsBackend>(
        options, fake_, resolver, [this](std::string_view line) { trouble_.emplace_back(line); });
  }
  absl::Status Listen(VerbsBackend& backend, const std::string& uri) {
    auto listener = backend.Listen(*ParseUri(uri), reactor_.get(), [this](std::unique_ptr<Link> l) {
      accepted_.push_back(std::move(l));
    });
    if (listener.ok()) listener_ = *std::move(listener);
    return listener.status();
  }
  // Runs the listener meanwhile.
  absl::StatusOr<std::unique_ptr<Link>> Dial(VerbsBackend& backend, const Uri& uri,
                                             Nanoseconds within = 5 * kNanosecondsPerSecond) {
    auto dialling =
        std::async(std::launch::async, [&] { return backend.Dial(uri, MonotonicNow() + within); });
    while (dialling.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      reactor_->RunOnce(Milliseconds(1));
    }
    for (int i = 0; i < 3; ++i) reactor_->RunOnce(0);
    return dialling.get();
  }

  const std::shared_ptr<FakeVerbs> fake_ = std::make_shared<FakeVerbs>();
  std::unique_ptr<Reactor> reactor_;
  std::unique_ptr<Listener> listener_;
  std::vector<std::unique_ptr<Link>> accepted_;
  std::vector<std::string> trouble_;
};

TEST_F(VerbsBackendTest, LinksAreKeyedAndKnowTheirPeer) {
  auto backend = Make();
  ASSERT_TRUE(Listen(*backend, "verbs://127.0.0.1:0/").ok());
  EXPECT_NE(listener_->address().port, 0);
  EXPECT_EQ(listener_->address().scheme, "verbs");
  auto link = Dial(*backend, listener_->address());
  ASSERT_TRUE(link.ok()) << link.status();
  ASSERT_EQ(accepted_.size(), 1u);
  EXPECT_EQ((*link)->transmission(), Transmission::kKeyed);
  EXPECT_EQ((*link)->peer().address, "127.0.0.1");
  EXPECT_EQ((*link)->peer().port, listener_->address().port);
  EXPECT_NE((*link)->domain(), nullptr);
  EXPECT_EQ((*link)->domain(), accepted_[0]->domain()) << "one for the device";
}

TEST_F(VerbsBackendTest, EmptyHostListensOnBothFamilies) {
  auto backend = Make();
  ASSERT_TRUE(Listen(*backend, "verbs://:0/").ok());
  Uri uri = listener_->address();
  for (const char* host : {"127.0.0.1", "::1"}) {
    uri.host = host;
    EXPECT_TRUE(Dial(*backend, uri).ok()) << host;
  }
}

TEST_F(VerbsBackendTest, ConnectionAsksForWhatTheDeviceHasAndForEndlessRetries) {
  fake_->device().max_qp_rd_atom = 16;
  fake_->device().max_qp_init_rd_atom = 1000;
  auto backend = Make();
  ASSERT_TRUE(Listen(*backend, "verbs://127.0.0.1:0/").ok());
  ASSERT_TRUE(Dial(*backend, listener_->address()).ok());
  const rdma_conn_param asked = fake_->last_connect();
  EXPECT_EQ(asked.responder_resources, 16);
  EXPECT_EQ(asked.initiator_depth, 255);
  EXPECT_EQ(asked.retry_count, 7);
  EXPECT_EQ(asked.rnr_retry_count, 7);
  EXPECT_EQ(asked.private_data_len, 0);
  const rdma_conn_param granted = fake_->last_accept();
  EXPECT_EQ(granted.responder_resources, 16) << "the least of 255 wanted and 16 there";
  EXPECT_EQ(granted.initiator_depth, 16) << "no more reads than the peer serves";
  EXPECT_EQ(granted.rnr_retry_count, 7);
}

TEST_F(VerbsBackendTest, NobodyListens) {
  auto backend = Make();
  const absl::Status status = Dial(*backend, *ParseUri("verbs://127.0.0.1:1/d")).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("127.0.0.1:1"), HasSubstr("is the target running")));
}

TEST_F(VerbsBackendTest, NoDeviceSaysHowToMakeOne) {
  auto backend = Make();
  fake_->FailCall("CreateEventChannel", 0, ENODEV);
  fake_->FailCall("CreateEventChannel", 1, ENODEV);
  absl::Status status = Listen(*backend, "verbs://127.0.0.1:0/");
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("127.0.0.1"), HasSubstr("rdma link add rxe0 type rxe netdev eth0")));
  status = Dial(*backend, *ParseUri("verbs://127.0.0.1:1/d")).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("rdma link add rxe0 type rxe netdev eth0"));
}

TEST_F(VerbsBackendTest, BusyPortIsNamed) {
  auto backend = Make();
  ASSERT_TRUE(Listen(*backend, "verbs://127.0.0.1:0/").ok());
  const absl::Status status = Listen(*backend, FormatUri(listener_->address()));
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("another program listens there"));
}

TEST_F(VerbsBackendTest, FreePortIsChosenForEveryAddress) {
  auto backend = Make();
  // Another program has the port that the first address chose, at the second address.
  fake_->FailCall("BindAddress", 1, EADDRINUSE);
  ASSERT_TRUE(Listen(*backend, "verbs://:0/").ok());
  EXPECT_EQ(fake_->NumCalls("Listen"), 3) << "one, then both again";
}

TEST_F(VerbsBackendTest, AddressWithoutADeviceDoesNotMatterWhileAnotherHasOne) {
  auto backend = Make();
  fake_->FailCall("BindAddress", 0, ENODEV);
  ASSERT_TRUE(Listen(*backend, "verbs://:0/").ok());
  EXPECT_EQ(fake_->NumCalls("Listen"), 1);
  listener_.reset();
  fake_->FailCall("BindAddress", 0, ENODEV);
  fake_->FailCall("BindAddress", 1, EAFNOSUPPORT);
  EXPECT_FALSE(Listen(*backend, "verbs://:0/").ok());
}

TEST_F(VerbsBackendTest, DeadAddressLeavesTimeForTheNext) {
  fake_->Silence("127.0.0.2");
  auto backend = Make({}, [](const ResolveQuery& query) {
    std::vector<SocketAddress> all;
    if (!query.listening) all.push_back(*SocketAddress::Parse("127.0.0.2", query.port));
    all.push_back(*SocketAddress::Parse("127.0.0.1", query.port));
    return absl::StatusOr<std::vector<SocketAddress>>(all);
  });
  ASSERT_TRUE(Listen(*backend, "verbs://two:0/").ok());
  auto link = Dial(*backend, listener_->address(), Milliseconds(400));
  ASSERT_TRUE(link.ok()) << link.status();
  EXPECT_EQ((*link)->peer().address, "127.0.0.1");
}

TEST_F(VerbsBackendTest, SilenceEndsAtTheDeadline) {
  fake_->Silence("127.0.0.1");
  auto backend = Make();
  const MonotonicTime begin = MonotonicNow();
  const absl::Status status =
      Dial(*backend, *ParseUri("verbs://127.0.0.1:1/d"), Milliseconds(100)).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_GE(MonotonicNow() - begin, Milliseconds(100));
  EXPECT_LT(MonotonicNow() - begin, 3 * kNanosecondsPerSecond);
}

TEST_F(VerbsBackendTest, ShortOfQueuesAtTheTargetTurnsTheClientAway) {
  auto backend = Make();
  ASSERT_TRUE(Listen(*backend, "verbs://127.0.0.1:0/").ok());
  fake_->FailCall("CreateQueuePair", 1, EIO);  // 0 is the dialler's
  const absl::Status status = Dial(*backend, listener_->address()).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("refused"));
  ASSERT_EQ(trouble_.size(), 1u);
  EXPECT_THAT(trouble_[0], AllOf(HasSubstr("a client turned away"), HasSubstr("queue pair")));
  EXPECT_TRUE(Dial(*backend, listener_->address()).ok()) << "the next one is served";
}

TEST_F(VerbsBackendTest, ConnectionsUnderWayAreLimited) {
  VerbsOptions options;
  options.max_pending = 0;
  auto backend = Make(options);
  ASSERT_TRUE(Listen(*backend, "verbs://127.0.0.1:0/").ok());
  EXPECT_TRUE(absl::IsUnavailable(Dial(*backend, listener_->address()).status()));
  ASSERT_EQ(trouble_.size(), 1u);
  EXPECT_THAT(trouble_[0], HasSubstr("max_pending"));
}

TEST_F(VerbsBackendTest, ClientThatDoesNotFinishIsDropped) {
  VerbsOptions options;
  options.handshake_timeout = Milliseconds(20);
  auto backend = Make(options);
  ASSERT_TRUE(Listen(*backend, "verbs://127.0.0.1:0/").ok());
  fake_->LoseNextEstablished();
  const auto link = Dial(*backend, listener_->address());  // thinks that it is connected
  const MonotonicTime give_up = MonotonicNow() + 5 * kNanosecondsPerSecond;
  while (trouble_.empty() && MonotonicNow() < give_up) reactor_->RunOnce(Milliseconds(5));
  ASSERT_EQ(trouble_.size(), 1u);
  EXPECT_THAT(trouble_[0], HasSubstr("did not finish connecting in time"));
  EXPECT_TRUE(accepted_.empty());
}

TEST_F(VerbsBackendTest, HandlerMayDestroyTheListener) {
  auto backend = Make();
  auto listener =
      backend->Listen(*ParseUri("verbs://127.0.0.1:0/"), reactor_.get(), [&](auto link) {
        listener_.reset();
        accepted_.push_back(std::move(link));
      });
  ASSERT_TRUE(listener.ok()) << listener.status();
  listener_ = *std::move(listener);
  EXPECT_TRUE(Dial(*backend, listener_->address()).ok());
  EXPECT_EQ(accepted_.size(), 1u);
}

TEST_F(VerbsBackendTest, ListenerThatEndsDropsConnectionsUnderWay) {
  auto backend = Make();
  ASSERT_TRUE(Listen(*backend, "verbs://127.0.0.1:0/").ok());
  fake_->LoseNextEstablished();
  (void)Dial(*backend, listener_->address(), Milliseconds(100));
  listener_.reset();
  EXPECT_TRUE(accepted_.empty());
}

}  // namespace
}  // namespace vof
