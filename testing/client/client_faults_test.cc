// SPDX-License-Identifier: Apache-2.0
//
// The clients against disks that fail and stand still, targets that say nothing, and connections
// that stutter and break.
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "backends/loopback/loopback_backend.h"
#include "core/runtime/client.h"
#include "core/runtime/reactor_thread.h"
#include "devices/blk/testing/fake_store.h"
#include "gtest/gtest.h"
#include "testing/client/client_fixture.h"

namespace vof {
namespace {

class ClientFaultsTest : public ClientFixture {
 protected:
  // "disk1" is a disk over a store that misbehaves when told to.
  void SetUp() override {
    ClientFixture::SetUp();
    store_ = std::make_shared<FakeStore>(FakeStore::Options{});
    auto device = MakeBlkDevice({.serial = "faulty"}, store_);
    ASSERT_TRUE(device.ok()) << device.status();
    ASSERT_TRUE(target_->AddDevice("disk1", *device).ok());
  }
  void TearDown() override {
    store_->Hold(false);
    ClientFixture::TearDown();
  }
  std::unique_ptr<BlkClient> ConnectFaulty(const std::string& options) {
    auto client = BlkClient::Connect(TheUri(options, "disk1"), &registry_, {});
    EXPECT_TRUE(client.ok()) << client.status();
    return client.ok() ? *std::move(client) : nullptr;
  }

  std::shared_ptr<FakeStore> store_;
  std::vector<std::byte> data_ = std::vector<std::byte>(4096);
};

TEST_P(ClientFaultsTest, ADeviceErrorNamesItsRange) {
  auto client = ConnectFaulty("");
  ASSERT_NE(client, nullptr);
  store_->FailNext(StoreStatus::kIoError);
  const absl::Status status = client->Write(8192, data_);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_NE(status.message().find("write of 4096 bytes at offset 8192"), absl::string_view::npos);
  EXPECT_NE(status.message().find("disk1"), absl::string_view::npos);
  EXPECT_TRUE(client->Write(8192, data_).ok()) << "the queue goes on";
}

TEST_P(ClientFaultsTest, OneFailureOfManyRequestsFailsTheCall) {
  auto client = ConnectFaulty("");
  ASSERT_NE(client, nullptr);
  std::vector<std::byte> all(1u << 20);
  store_->FailNext(StoreStatus::kIoError);
  EXPECT_TRUE(absl::IsDataLoss(client->Read(0, all)));
  EXPECT_TRUE(client->Read(0, all).ok());
}

TEST_P(ClientFaultsTest, ALateRequestCostsItsVirtqueueOnly) {
  auto client = ConnectFaulty("queues=2&io_timeout=200ms");
  ASSERT_NE(client, nullptr);
  store_->Hold(true);
  const absl::Status status = client->Read(0, data_);
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_EQ(FailureKindOf(status), FailureKind::kTimedOut);
  EXPECT_NE(status.message().find("at offset 0: no answer within 200 ms"), absl::string_view::npos)
      << status;
  store_->Hold(false);
  EXPECT_TRUE(client->device().status().ok()) << client->device().status();
  for (int i = 0; i < 4; ++i) {
    const absl::Status again = client->Read(0, data_);
    EXPECT_TRUE(again.ok()) << again;
  }
}

TEST_P(ClientFaultsTest, WithItsOnlyVirtqueueLostTheErrorSaysWhy) {
  auto client = ConnectFaulty("io_timeout=100ms");
  ASSERT_NE(client, nullptr);
  store_->Hold(true);
  EXPECT_TRUE(absl::IsDeadlineExceeded(client->Read(0, data_)));
  store_->Hold(false);
  const absl::Status after = client->Read(0, data_);
  EXPECT_EQ(FailureKindOf(after), FailureKind::kTimedOut) << after;
  EXPECT_NE(std::string(after.message()).find("not answered within 100 ms"), std::string::npos)
      << after;
}

TEST_P(ClientFaultsTest, DisconnectEndsWhatTheDeviceDoesNotAnswer) {
  auto client = ConnectFaulty("io_timeout=0");
  ASSERT_NE(client, nullptr);
  store_->Hold(true);
  BlkIo io;
  std::promise<BlkError> done;
  io.context = &done;
  io.done = [](BlkIo* finished) {
    static_cast<std::promise<BlkError>*>(finished->context)->set_value(finished->error);
  };
  BlkClientQueue& queue = client->queue(0);
  queue.Post([&] { queue.Read(&io, 0, MutableBuffer(data_.data(), data_.size())); });
  client->device().Disconnect();
  auto error = done.get_future();
  ASSERT_EQ(error.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  // The target cancels what a disconnect finds, or the close does.
  EXPECT_NE(error.get(), BlkError::kNone);
  EXPECT_FALSE(client->Read(0, data_).ok());
  store_->Hold(false);
}

TEST_P(ClientFaultsTest, ATargetThatSaysNothingTimesOut) {
  auto reactor = ReactorThread::Start({.name = "mute"});
  ASSERT_TRUE(reactor.ok()) << reactor.status();
  auto backend = registry_.Find(address_.scheme);
  auto where = ParseUri(address_.scheme == "tcp" ? "tcp://127.0.0.1:0" : "loop://mute");
  ASSERT_TRUE(backend.ok() && where.ok());
  std::vector<std::unique_ptr<Link>> links;  // accepted, and never driven
  absl::StatusOr<std::unique_ptr<Listener>> listener;
  (*reactor)->RunAndWait([&] {
    listener = (*backend)->Listen(*where, (*reactor)->reactor(), [&](std::unique_ptr<Link> link) {
      links.push_back(std::move(link));
    });
  });
  ASSERT_TRUE(listener.ok()) << listener.status();
  Uri uri = TheUri("connect_timeout=300ms");
  uri.host = (*listener)->address().host;
  uri.port = (*listener)->address().port;
  uri.has_port = (*listener)->address().has_port;
  const auto begin = std::chrono::steady_clock::now();
  auto client = DeviceClient::Connect(uri, &registry_, {});
  EXPECT_TRUE(absl::IsDeadlineExceeded(client.status())) << client.status();
  EXPECT_EQ(FailureKindOf(client.status()), FailureKind::kCannotConnect);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(8));
  (*reactor)->RunAndWait([&] {
    listener->reset();
    links.clear();
  });
}

INSTANTIATE_TEST_SUITE_P(Fabrics, ClientFaultsTest, EveryFabricAndDialect(), FabricAndDialect);

// --- Connections that stutter and break; in process, where that can be arranged ---

class ClientStreamFaultsTest : public ClientFaultsTest {
 protected:
  // Dials through `faults` instead of the fixture's own universe.
  std::unique_ptr<BackendRegistry> FaultyRegistry(LoopbackBackend::Faults faults) {
    auto registry = std::make_unique<BackendRegistry>();
    registry->Add(std::make_unique<LoopbackBackend>(LoopbackOptions{}, std::move(faults)));
    auto target = TargetServer::Start(TargetOptionsOfTest(), registry.get());
    EXPECT_TRUE(target.ok()) << target.status();
    faulty_target_ = *std::move(target);
    EXPECT_TRUE(faulty_target_->AddDevice("disk0", device_).ok());
    EXPECT_TRUE(faulty_target_->Listen("loop:///").ok());
    return registry;
  }
  void TearDown() override {
    if (faulty_target_ != nullptr) faulty_target_->Stop();
    ClientFaultsTest::TearDown();
  }
  std::unique_ptr<TargetServer> faulty_target_;
};

TEST_P(ClientStreamFaultsTest, DataSurvivesShortReadsAndWrites) {
  auto registry = FaultyRegistry([](uint64_t nth) {
    FaultPlan plan;
    plan.seed = nth + 1;
    plan.read.short_per_mille = plan.write.short_per_mille = 700;
    plan.read.again_per_mille = plan.write.again_per_mille = 100;
    return plan;
  });
  auto client = BlkClient::Connect(TheUri("queues=2"), registry.get(), {});
  ASSERT_TRUE(client.ok()) << client.status();
  std::vector<std::byte> data(1u << 20), back(data.size());
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 31 >> 4);
  ASSERT_TRUE((*client)->Write(0, data).ok());
  ASSERT_TRUE((*client)->Read(0, back).ok());
  EXPECT_TRUE(back == data);
}

TEST_P(ClientStreamFaultsTest, ACutAnywhereIsAnErrorAndNeverAHang) {
  for (uint64_t cut = 1; cut < 1'000'000; cut = cut * 5 / 4 + 13) {
    auto registry = FaultyRegistry([cut](uint64_t nth) {
      FaultPlan plan;
      plan.seed = cut;
      if (nth % 2 == 1) plan.read.cut_after_bytes = cut;  // the virtqueue
      if (nth % 2 == 0) plan.read.cut_after_bytes = cut * 16;
      return plan;
    });
    auto client = BlkClient::Connect(TheUri("io_timeout=5s"), registry.get(), {});
    if (client.ok()) {
      std::vector<std::byte> all(1u << 20);
      const absl::Status status = (*client)->Read(0, all);
      EXPECT_EQ(FailureKindOf(status), FailureKind::kLost) << cut << ": " << status;
      (*client)->device().Disconnect();
    } else {
      const FailureKind kind = FailureKindOf(client.status());
      // Cut before the first answer, it may as well have been no target.
      EXPECT_TRUE(kind == FailureKind::kLost || kind == FailureKind::kCannotConnect)
          << client.status();
    }
    faulty_target_->Stop();
    faulty_target_.reset();
  }
}

INSTANTIATE_TEST_SUITE_P(Loopback, ClientStreamFaultsTest,
                         testing::Combine(testing::Values("loop"), testing::Values("v5", "ref")),
                         FabricAndDialect);

}  // namespace
}  // namespace vof
