// SPDX-License-Identifier: Apache-2.0
//
// Fabrics that cannot pin what a session needs: both ends say so, and nothing hangs.
#include <memory>
#include <mutex>
#include <string>

#include "absl/strings/str_cat.h"
#include "backends/loopback/loopback_backend.h"
#include "core/engine/target_events.h"
#include "core/runtime/backend.h"
#include "core/runtime/target.h"
#include "core/runtime/uri.h"
#include "devices/blk/blk_device.h"
#include "devices/blk/client/blk_client.h"
#include "devices/blk/store_memory.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class FabricMemoryTest : public testing::Test {
 protected:
  // The fabric pins no more than that; both ends use it.
  void Start(uint64_t max_pinned_bytes, size_t target_pool_bytes) {
    registry_.Add(std::make_unique<LoopbackBackend>(
        LoopbackOptions{}, nullptr, FabricOptions{},
        FabricDomainOptions{.max_pinned_bytes = max_pinned_bytes}));
    TargetServerOptions options;
    options.pool_bytes = target_pool_bytes;
    options.observer = [this](const TargetEvent& event) {
      const std::lock_guard<std::mutex> lock(mutex_);
      absl::StrAppend(&log_, DescribeTargetEvent(event), "\n");
    };
    auto target = TargetServer::Start(options, &registry_);
    ASSERT_TRUE(target.ok()) << target.status();
    target_ = *std::move(target);
    auto store = MakeMemoryStore({.size_bytes = 1u << 20});
    ASSERT_TRUE(store.ok()) << store.status();
    auto device = MakeBlkDevice({}, *store);
    ASSERT_TRUE(device.ok()) << device.status();
    ASSERT_TRUE(target_->AddDevice("disk", *device).ok());
    ASSERT_TRUE(target_->Listen("loop:///").ok());
  }
  absl::Status Connect(size_t pool_bytes) {
    DeviceClientOptions options;
    options.own_reactor.pool_bytes = pool_bytes;
    auto uri = ParseUri("loop:///disk?transmission=keyed&connect_timeout=20s");
    auto client = BlkClient::Connect(*uri, &registry_, options);
    return client.status();
  }
  std::string Log() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return log_;
  }

  BackendRegistry registry_;
  std::mutex mutex_;
  std::string log_;
  std::unique_ptr<TargetServer> target_;
};

TEST_F(FabricMemoryTest, ATargetThatCannotPinItsPoolLogsIt) {
  Start(/*max_pinned_bytes=*/48u << 20, /*target_pool_bytes=*/64u << 20);
  const absl::Status status = Connect(/*pool_bytes=*/16u << 20);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(Log(), AllOf(HasSubstr("cannot register the payload pool"), HasSubstr("67108864")));
}

TEST_F(FabricMemoryTest, AnInitiatorThatCannotPinItsPoolSaysSo) {
  Start(/*max_pinned_bytes=*/60u << 20, /*target_pool_bytes=*/16u << 20);
  const absl::Status status = Connect(/*pool_bytes=*/64u << 20);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("cannot register the payload pool"), HasSubstr("67108864")));
  // The target and the fabric are as good as before.
  const absl::Status again = Connect(16u << 20);
  EXPECT_TRUE(again.ok()) << again;
}

}  // namespace
}  // namespace vof
