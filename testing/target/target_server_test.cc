// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/loopback/loopback_backend.h"
#include "core/device/device.h"
#include "core/runtime/backend.h"
#include "core/runtime/client.h"
#include "core/runtime/target.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr Nanoseconds kLong = 30 * kNanosecondsPerSecond;

// Answers each request with one byte, when it may.
class GateQueue final : public DeviceQueue {
 public:
  explicit GateQueue(const std::atomic<bool>* open) : open_(open) {}
  QueueTraits traits() const override { return {.lends_results = true}; }
  void Activate(uint64_t) override {}
  void Submit(std::span<DeviceRequest* const> batch) override {
    held_.insert(held_.end(), batch.begin(), batch.end());
  }
  int Poll() override {
    if (!*open_) return 0;
    for (DeviceRequest* request : held_) {
      const std::byte answer{7};
      request->AddResultBytes({&answer, 1});
      request->Complete(1);
    }
    return static_cast<int>(std::exchange(held_, {}).size());
  }

 private:
  const std::atomic<bool>* const open_;
  std::vector<DeviceRequest*> held_;
};

class GateDevice final : public Device {
 public:
  std::atomic<bool> open{true};

  DeviceIdentity identity() const override { return {.device_type = 42}; }
  uint64_t features() const override { return 0; }
  uint16_t num_queues() const override { return 2; }
  uint16_t max_queue_size() const override { return 64; }
  absl::StatusOr<std::unique_ptr<DeviceQueue>> OpenQueue(uint16_t) override {
    return std::make_unique<GateQueue>(&open);
  }
};

// One request, and where its answer can be waited for.
class Request {
 public:
  void Start(ClientQueue& queue) {
    request_.readable = {&out_, 1};
    request_.writable = {&in_, 1};
    request_.context = this;
    request_.done = [](InitiatorRequest* r) {
      auto* const self = static_cast<Request*>(r->context);
      const std::lock_guard<std::mutex> lock(self->mutex_);
      self->done_ = true;
      self->changed_.notify_one();  // under the lock: whoever waits ends this object
    };
    queue.Post([this, &queue] { queue.Submit(&request_); });
  }
  RequestError Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return done_; });
    return request_.error;
  }

 private:
  std::array<std::byte, 16> sent_{};
  std::array<std::byte, 1> received_{};
  ConstBuffer out_{sent_.data(), sent_.size()};
  MutableBuffer in_{received_.data(), received_.size()};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  InitiatorRequest request_;
};

class TargetServerTest : public testing::Test {
 protected:
  void SetUp() override { RegisterLoopback(registry_); }

  void StartTarget(TargetServerOptions options = {}) {
    options.reactors = 2;
    options.observer = [this](const TargetEvent& event) {
      const std::lock_guard<std::mutex> lock(mutex_);
      lines_.push_back(DescribeTargetEvent(event));
    };
    auto server = TargetServer::Start(std::move(options), &registry_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    ASSERT_TRUE(server_->AddDevice("gate", device_).ok());
    ASSERT_TRUE(server_->Listen("loop:///").ok());
  }
  absl::StatusOr<std::unique_ptr<DeviceClient>> Connect(const std::string& name,
                                                        const std::string& initiator) {
    auto uri = ParseUri(absl::StrCat("loop:///", name, "?ivqn=", initiator));
    EXPECT_TRUE(uri.ok()) << uri.status();
    return DeviceClient::Connect(*uri, &registry_, {});
  }
  std::vector<std::string> Lines() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return lines_;
  }
  // Counting happens on the reactors, a little after the initiator sees its effect.
  template <typename Condition>
  bool Eventually(Condition condition) {
    for (int i = 0; i < 3000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));  // style: allow(sleep) polls
    }
    return false;
  }

  BackendRegistry registry_;
  std::shared_ptr<GateDevice> device_ = std::make_shared<GateDevice>();
  std::mutex mutex_;
  std::vector<std::string> lines_;
  std::unique_ptr<TargetServer> server_;
};

TEST_F(TargetServerTest, CountsAndReportsByCause) {
  StartTarget();
  auto first = Connect("gate", "first");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_FALSE(Connect("gate", "second").ok());
  EXPECT_FALSE(Connect("nothing", "third").ok());
  std::array<Request, 5> requests;
  for (Request& request : requests) request.Start((*first)->queue(0));
  for (Request& request : requests) EXPECT_EQ(request.Wait(), RequestError::kNone);

  TargetCounters counters = server_->Counters();
  EXPECT_EQ(counters.sessions_accepted, 1u);
  EXPECT_EQ(counters.queues_accepted, 1u);
  EXPECT_EQ(counters.refused(Cause::kExclusiveUse), 1u);
  EXPECT_EQ(counters.refused(Cause::kLimit), 0u);
  EXPECT_EQ(counters.refused(Cause::kUnknownName), 1u);
  EXPECT_EQ(counters.io.requests, 5u);
  EXPECT_EQ(counters.io.out_bytes, 5u * 16);
  EXPECT_EQ(counters.io.in_bytes, 5u);
  EXPECT_EQ(counters.io.failed, 0u);

  first->reset();
  EXPECT_TRUE(Eventually([&] {
    const TargetCounters now = server_->Counters();
    return now.ended(EndCause::kDisconnected) == 1 && now.queues_ended == 1;
  }));
  EXPECT_EQ(server_->Counters().io.requests, 5u) << "what a queue did is not forgotten with it";
  EXPECT_THAT(Lines(), Contains(HasSubstr("of \"gate\" accepted: v5, from \"first\" at loop")));
  EXPECT_THAT(Lines(), Contains(HasSubstr("refused (the device is in exclusive use by session")));
  EXPECT_THAT(Lines(), Contains(HasSubstr("of \"nothing\" refused (no device of this name")));
  EXPECT_THAT(Lines(), Contains(HasSubstr("ended (disconnected): v5, from \"first\"")));
}

TEST_F(TargetServerTest, AnIdleTargetDrainsAtOnce) {
  StartTarget();
  auto client = Connect("gate", "idle");
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_TRUE(server_->Drain(kLong));
  EXPECT_EQ(server_->num_connections(), 0u);
  EXPECT_TRUE(Eventually([&] { return !(*client)->status().ok(); }));
  EXPECT_EQ(server_->Counters().ended(EndCause::kDrained), 1u);
}

TEST_F(TargetServerTest, ADrainWaitsForWhatTheDeviceCompletes) {
  StartTarget();
  auto client = Connect("gate", "busy");
  ASSERT_TRUE(client.ok()) << client.status();
  device_->open = false;
  std::array<Request, 20> requests;
  for (Request& request : requests) request.Start((*client)->queue(0));
  // All of them have been sent when this has been answered.
  std::promise<void> sent;
  (*client)->queue(0).Post([&] { sent.set_value(); });
  sent.get_future().wait();
  ASSERT_TRUE((*client)->Ping().ok());
  auto drained = std::async(std::launch::async, [&] { return server_->Drain(kLong); });
  EXPECT_EQ(drained.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  device_->open = true;
  EXPECT_TRUE(drained.get());
  for (Request& request : requests) EXPECT_EQ(request.Wait(), RequestError::kNone);
}

TEST_F(TargetServerTest, ADrainEndsAtItsLimit) {
  StartTarget();
  auto client = Connect("gate", "stuck");
  ASSERT_TRUE(client.ok()) << client.status();
  device_->open = false;
  Request request;
  request.Start((*client)->queue(0));
  ASSERT_TRUE(Eventually([&] { return server_->num_connections() == 2; }));
  ASSERT_TRUE((*client)->Ping().ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // style: allow(sleep) it gets there
  EXPECT_FALSE(server_->Drain(kNanosecondsPerSecond / 5));
  device_->open = true;
  EXPECT_TRUE(server_->Stop());
  // It may be answered in the moment before the connection ends.
  const RequestError error = request.Wait();
  EXPECT_TRUE(error == RequestError::kClosed || error == RequestError::kNone);
}

// The memory that a device still writes to must not go, and the process must not either.
TEST_F(TargetServerTest, ADeviceThatKeepsRequestsOutlivesTheTarget) {
  TargetServerOptions options;
  options.device_timeout = kNanosecondsPerSecond / 20;
  StartTarget(options);
  auto client = Connect("gate", "stuck");
  ASSERT_TRUE(client.ok()) << client.status();
  Request before;
  before.Start((*client)->queue(0));
  ASSERT_EQ(before.Wait(), RequestError::kNone);
  device_->open = false;
  Request held;
  held.Start((*client)->queue(0));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // style: allow(sleep) it gets there
  EXPECT_FALSE(server_->Stop());
  EXPECT_TRUE(server_->Stop()) << "there is nothing left to stop";
  EXPECT_EQ(held.Wait(), RequestError::kClosed);
  server_.reset();
  EXPECT_THAT(Lines(), Contains(HasSubstr("is held by its device")));
  EXPECT_GT(device_.use_count(), 1) << "the queue lives on";
  const size_t num_lines = Lines().size();
  device_->open = true;
  EXPECT_TRUE(Eventually([&] { return device_.use_count() == 1; })) << "and goes with its requests";
  EXPECT_EQ(Lines().size(), num_lines) << "nobody is told after Stop";
}

}  // namespace
}  // namespace vof
