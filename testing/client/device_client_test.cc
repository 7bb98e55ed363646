// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "core/runtime/client.h"
#include "core/runtime/reactor_thread.h"
#include "gtest/gtest.h"
#include "testing/client/client_fixture.h"

namespace vof {
namespace {

class DeviceClientTest : public ClientFixture {
 protected:
  absl::Status ConnectError(const Uri& uri) {
    auto client = DeviceClient::Connect(uri, &registry_, {});
    return client.ok() ? absl::OkStatus() : client.status();
  }
};

TEST_P(DeviceClientTest, TellsWhatWasAgreed) {
  auto client = DeviceClient::Connect(TheUri("queues=3&queue_size=64"), &registry_, {});
  ASSERT_TRUE(client.ok()) << client.status();
  const SessionInfo& info = (*client)->info();
  EXPECT_EQ(info.device_type, 2u);
  EXPECT_EQ(info.vendor_id, kOurVendorId);
  EXPECT_EQ(info.queue_sizes, (std::vector<uint16_t>{64, 64, 64}));
  EXPECT_EQ((*client)->num_queues(), 3u);
  EXPECT_EQ((*client)->queue(2).size(), 64);
  if (native()) {
    EXPECT_EQ(info.epoch, device_->epoch());
    EXPECT_NE(info.transport_features & transport_feature::kCredit, 0u);
  }
  EXPECT_FALSE((*client)->peer().address.empty());
  EXPECT_TRUE((*client)->status().ok());
}

TEST_P(DeviceClientTest, TakesFewerQueuesWhenTheDeviceHasFewer) {
  auto client = DeviceClient::Connect(TheUri("queues=200"), &registry_, {});
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ((*client)->num_queues(), device_->num_queues());
}

TEST_P(DeviceClientTest, PingAndConfiguration) {
  auto client = DeviceClient::Connect(TheUri(), &registry_, {});
  ASSERT_TRUE(client.ok()) << client.status();
  auto round_trip = (*client)->Ping();
  ASSERT_TRUE(round_trip.ok()) << round_trip.status();
  EXPECT_GE(*round_trip, 0);
  auto config = (*client)->ReadConfig({{0, 8}});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->values[0], kDiskBytes / 512);
  auto beyond = (*client)->ReadConfig({{4096, 8}});
  EXPECT_EQ(FailureKindOf(beyond.status()), FailureKind::kRefused) << beyond.status();
}

TEST_P(DeviceClientTest, ResetLeavesTheDeviceUsable) {
  auto client = Connect();
  ASSERT_NE(client, nullptr);
  const absl::Status reset = client->device().Reset();
  ASSERT_TRUE(reset.ok()) << reset;
  std::vector<std::byte> data(4096);
  const absl::Status read = client->Read(0, data);
  EXPECT_TRUE(read.ok()) << read;
}

TEST_P(DeviceClientTest, AnUnknownNameIsNotFound) {
  const absl::Status status = ConnectError(TheUri("", "no-such-disk"));
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_EQ(FailureKindOf(status), FailureKind::kRefused);
  EXPECT_EQ(FailureCauseOf(status), Cause::kUnknownName);
  EXPECT_NE(status.message().find("no-such-disk"), absl::string_view::npos) << status;
}

TEST_P(DeviceClientTest, ASecondInitiatorIsRefusedAndTheFirstGoesOn) {
  auto first = Connect();
  ASSERT_NE(first, nullptr);
  const absl::Status status = ConnectError(TheUri("ivqn=other"));
  EXPECT_EQ(FailureKindOf(status), FailureKind::kRefused) << status;
  EXPECT_EQ(FailureCauseOf(status), Cause::kExclusiveUse);
  std::vector<std::byte> data(512);
  EXPECT_TRUE(first->Read(0, data).ok());
}

TEST_P(DeviceClientTest, NobodyThereIsUnavailable) {
  Uri uri = TheUri("connect_timeout=2s");
  target_->Stop();
  const absl::Status status = ConnectError(uri);
  EXPECT_EQ(FailureKindOf(status), FailureKind::kCannotConnect) << status;
  EXPECT_TRUE(absl::IsUnavailable(status));
}

TEST_P(DeviceClientTest, AHostWithoutAnAddressCannotBeConnectedTo) {
  if (address_.scheme == "loop") GTEST_SKIP() << "no hosts in process";
  Uri uri = TheUri();
  uri.host = "no-such-host.invalid";
  const absl::Status status = ConnectError(uri);
  EXPECT_EQ(FailureKindOf(status), FailureKind::kCannotConnect) << status;
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_NE(status.message().find("no-such-host.invalid"), absl::string_view::npos) << status;
}

TEST_P(DeviceClientTest, ErrorsOfCommandsNameTheDeviceOnce) {
  auto client = DeviceClient::Connect(TheUri(), &registry_, {});
  ASSERT_TRUE(client.ok()) << client.status();
  const auto expect_named_once = [](const absl::Status& status) {
    const absl::string_view text = status.message();
    const size_t first = text.find("/disk0");
    EXPECT_NE(first, absl::string_view::npos) << status;
    EXPECT_EQ(text.find("/disk0", first + 1), absl::string_view::npos) << status;
  };
  expect_named_once((*client)->ReadConfig({{4096, 8}}).status());
  expect_named_once((*client)->WriteConfig({4096, 1}, 1));
  (*client)->Disconnect();
  expect_named_once((*client)->Ping().status());
  expect_named_once((*client)->Reset());
}

TEST_P(DeviceClientTest, AnUnknownSchemeListsTheKnownOnes) {
  Uri uri = TheUri();
  uri.scheme = "smoke";
  const absl::Status status = ConnectError(uri);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_NE(status.message().find(address_.scheme), absl::string_view::npos);
}

TEST_P(DeviceClientTest, TheEndIsToldWithItsReason) {
  std::promise<absl::Status> ended;
  DeviceClientOptions options;
  options.on_ended = [&](const absl::Status& why) { ended.set_value(Detached(why)); };
  auto client = Connect("", std::move(options));
  ASSERT_NE(client, nullptr);
  target_->Stop();
  auto why = ended.get_future();
  ASSERT_EQ(why.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  EXPECT_EQ(FailureKindOf(why.get()), FailureKind::kLost);
  EXPECT_EQ(FailureKindOf(client->device().status()), FailureKind::kLost);
  std::vector<std::byte> data(512);
  EXPECT_EQ(FailureKindOf(client->Read(0, data)), FailureKind::kLost);
  EXPECT_FALSE(client->device().Ping().ok());
}

TEST_P(DeviceClientTest, RequestsSubmittedAfterTheEndAreCancelled) {
  auto client = Connect();
  ASSERT_NE(client, nullptr);
  ClientQueue& queue = client->device().queue(0);
  target_->Stop();
  for (int i = 0; i < 5000 && queue.status().ok(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ASSERT_FALSE(queue.status().ok());
  std::promise<RequestError> done;
  std::byte bytes[16] = {};
  ConstBuffer readable(bytes, sizeof(bytes));
  InitiatorRequest request;
  request.readable = {&readable, 1};
  request.context = &done;
  request.done = [](InitiatorRequest* r) {
    static_cast<std::promise<RequestError>*>(r->context)->set_value(r->error);
  };
  queue.Post([&] { queue.Submit(&request); });
  auto error = done.get_future();
  ASSERT_EQ(error.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  EXPECT_EQ(error.get(), RequestError::kCancelled);
}

TEST_P(DeviceClientTest, ReactorsOfTheCallerOutliveTheClient) {
  auto first = ReactorThread::Start({.name = "mine-0"});
  auto second = ReactorThread::Start({.name = "mine-1"});
  ASSERT_TRUE(first.ok() && second.ok());
  DeviceClientOptions options;
  options.reactors = {(*first)->reactor(), (*second)->reactor()};
  for (int i = 0; i < 3; ++i) {
    auto client = Connect("queues=3", options);
    ASSERT_NE(client, nullptr);
    EXPECT_EQ(client->queue(0).reactor(), (*first)->reactor());
    EXPECT_EQ(client->queue(1).reactor(), (*second)->reactor());
    EXPECT_EQ(client->queue(2).reactor(), (*first)->reactor());
    std::vector<std::byte> data(4096);
    for (int n = 0; n < 6; ++n) EXPECT_TRUE(client->Read(0, data).ok());
  }
  for (auto* reactor : {&first, &second}) {
    size_t connections = 99;
    (**reactor)->RunAndWait([&] { connections = (**reactor)->reactor()->num_connections(); });
    EXPECT_EQ(connections, 0u);
  }
}

TEST_P(DeviceClientTest, ManyClientsComeAndGo) {
  for (int i = 0; i < 50; ++i) {
    auto client = DeviceClient::Connect(TheUri(), &registry_, {});
    ASSERT_TRUE(client.ok()) << i << ": " << client.status();
  }
}

TEST_P(DeviceClientTest, AResizeIsTold) {
  if (!native()) GTEST_SKIP() << "no events in ref";
  std::promise<void> changed;
  DeviceClientOptions options;
  options.on_config_changed = [&] { changed.set_value(); };
  auto client = Connect("", std::move(options));
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(device_->Resize(2 * kDiskBytes).ok());
  ASSERT_EQ(changed.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
  auto info = client->Refresh();
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->capacity_bytes, 2 * kDiskBytes);
}

INSTANTIATE_TEST_SUITE_P(Fabrics, DeviceClientTest, EveryFabricAndDialect(), FabricAndDialect);

}  // namespace
}  // namespace vof
