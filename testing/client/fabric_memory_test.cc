// SPDX-License-Identifier: Apache-2.0
//
// Fabrics that cannot pin what a session needs: both ends say so, and nothing hangs. And what a
// target pins of its devices.
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

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
using ::testing::Not;

constexpr uint64_t kMiB = 1u << 20;

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
    ASSERT_NO_FATAL_FAILURE(AddDisk("disk", kMiB));
    ASSERT_TRUE(target_->Listen("loop:///").ok());
  }
  void AddDisk(const std::string& name, uint64_t size_bytes) {
    auto store = MakeMemoryStore({.size_bytes = size_bytes});
    ASSERT_TRUE(store.ok()) << store.status();
    auto device = MakeBlkDevice({}, *store);
    ASSERT_TRUE(device.ok()) << device.status();
    ASSERT_TRUE(target_->AddDevice(name, *device).ok());
    disks_[name] = *device;
  }
  absl::StatusOr<std::unique_ptr<BlkClient>> Open(const std::string& name, size_t pool_bytes,
                                                  const std::string& dialect = "v5") {
    DeviceClientOptions options;
    options.own_reactor.pool_bytes = pool_bytes;
    auto uri = ParseUri(absl::StrCat("loop:///", name, "?transmission=keyed&connect_timeout=20s",
                                     dialect == "v5" ? "" : "&dialect=ref"));
    return BlkClient::Connect(*uri, &registry_, options);
  }
  absl::Status Connect(size_t pool_bytes) { return Open("disk", pool_bytes).status(); }
  // Writes, reads and discards at the beginning and at the end of the disk.
  static void Work(BlkClient& client) {
    constexpr uint64_t kMost = 3 * kMiB, kStep = 190u << 10, kBytes = 200u << 10;
    const uint64_t capacity = client.info().capacity_bytes;
    const uint64_t end = std::min(capacity, kMost);
    for (uint64_t at = 0; at + kBytes <= end; at += kStep) WorkAt(client, at, kBytes);
    WorkAt(client, capacity - kBytes, kBytes);
  }
  static void WorkAt(BlkClient& client, uint64_t at, uint64_t size_bytes) {
    SCOPED_TRACE(at);
    std::vector<std::byte> data(size_bytes), back(size_bytes);
    for (size_t i = 0; i < size_bytes; ++i) data[i] = static_cast<std::byte>(i * 7 + at / 512);
    ASSERT_TRUE(client.Write(at, data).ok());
    ASSERT_TRUE(client.Read(at, back).ok());
    ASSERT_EQ(back, data);
    ASSERT_TRUE(client.Discard(at + 512, size_bytes / 2).ok());
    ASSERT_TRUE(client.Read(at, back).ok());
    std::fill_n(data.begin() + 512, size_bytes / 2, std::byte{0});
    ASSERT_EQ(back, data);
  }
  // What the fabric has pinned, by both ends: as it says when more is asked for than there can be.
  static uint64_t Pinned(BlkClient& client) {
    std::byte byte;
    const auto refused = client.device().RegisterMemory({&byte, size_t{1} << 46});
    EXPECT_TRUE(absl::IsResourceExhausted(refused.status())) << refused.status();
    const std::string text(refused.status().message());
    EXPECT_THAT(text, AllOf(HasSubstr("max_pinned_bytes is "), HasSubstr("70368744177664 bytes"),
                            HasSubstr("for the session")));
    const size_t at = text.find(" and ", text.find("max_pinned_bytes is "));
    return at == std::string::npos ? 0 : std::stoull(text.substr(at + 5));
  }
  std::string Log() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return log_;
  }

  BackendRegistry registry_;
  std::mutex mutex_;
  std::string log_;
  std::map<std::string, std::shared_ptr<BlkDevice>> disks_;
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

constexpr uint64_t kPoolBytes = 16u << 20;

TEST_F(FabricMemoryTest, ADiskIsPinnedOnceAndUntilItIsRemoved) {
  Start(uint64_t{1} << 32, kPoolBytes);
  ASSERT_NO_FATAL_FAILURE(AddDisk("other", 3 * kMiB));
  auto client = Open("disk", kPoolBytes);
  ASSERT_TRUE(client.ok()) << client.status();
  ASSERT_NO_FATAL_FAILURE(Work(**client));
  const uint64_t pinned = Pinned(**client);
  client->reset();
  client = Open("disk", kPoolBytes);
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ(Pinned(**client), pinned) << "not again for another session";
  client->reset();
  client = Open("other", kPoolBytes);
  ASSERT_TRUE(client.ok()) << client.status();
  ASSERT_NO_FATAL_FAILURE(Work(**client));
  const uint64_t both = Pinned(**client);
  EXPECT_EQ(both, pinned + 3 * kMiB + kMiB) << "its bytes and its zeros; the first stays pinned";
  ASSERT_TRUE(target_->RemoveDevice("disk").ok());
  EXPECT_EQ(Pinned(**client), both - kMiB - kMiB);
  EXPECT_THAT(Log(), Not(HasSubstr("copied")));
}

TEST_F(FabricMemoryTest, ARemovedDiskIsPinnedUntilItsSessionHasEnded) {
  Start(uint64_t{1} << 32, kPoolBytes);
  ASSERT_NO_FATAL_FAILURE(AddDisk("other", 3 * kMiB));
  auto watcher = Open("other", kPoolBytes);
  ASSERT_TRUE(watcher.ok()) << watcher.status();
  const uint64_t without = Pinned(**watcher);
  auto client = Open("disk", kPoolBytes);
  ASSERT_TRUE(client.ok()) << client.status();
  ASSERT_NO_FATAL_FAILURE(Work(**client));
  EXPECT_GT(Pinned(**watcher), without + kPoolBytes);
  ASSERT_TRUE(target_->RemoveDevice("disk").ok());
  client->reset();
  uint64_t pinned = 0;
  for (int i = 0; i < 5000; ++i) {
    pinned = Pinned(**watcher);
    if (pinned == without) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(pinned, without) << "nothing is left of it";
}

TEST_F(FabricMemoryTest, ADiskThatCannotBePinnedIsCopiedAndLoggedOnce) {
  Start(100 * kMiB, kPoolBytes);
  ASSERT_NO_FATAL_FAILURE(AddDisk("large", 128 * kMiB));
  for (const char* dialect : {"v5", "ref"}) {
    auto client = Open("large", kPoolBytes, dialect);
    ASSERT_TRUE(client.ok()) << client.status();
    ASSERT_NO_FATAL_FAILURE(Work(**client));
  }
  const std::string log = Log();
  const size_t at = log.find("memory of \"large\" is not registered, its results are copied");
  ASSERT_NE(at, std::string::npos) << log;
  EXPECT_THAT(log, AllOf(HasSubstr("134217728"), HasSubstr("max_pinned_bytes")));
  EXPECT_EQ(log.find("is not registered", at + 20), std::string::npos) << log;
}

TEST_F(FabricMemoryTest, ADiskThatGrowsIsReadWhereItHasGrown) {
  for (const bool fits : {true, false}) {
    SCOPED_TRACE(fits);
    target_.reset();
    registry_ = BackendRegistry();
    Start(100 * kMiB, kPoolBytes);
    for (const char* dialect : {"v5", "ref"}) {
      auto client = Open("disk", kPoolBytes, dialect);
      ASSERT_TRUE(client.ok()) << client.status();
      ASSERT_NO_FATAL_FAILURE(Work(**client));
      for (const uint64_t bytes : {fits ? 2 * kMiB : 200 * kMiB, kMiB / 2, 2 * kMiB, kMiB}) {
        ASSERT_TRUE(disks_["disk"]->Resize(bytes).ok());
        const auto info = (*client)->Refresh();
        ASSERT_TRUE(info.ok()) << info.status();
        ASSERT_EQ(info->capacity_bytes, bytes);
        ASSERT_NO_FATAL_FAILURE(Work(**client));
      }
    }
    EXPECT_EQ(Log().find("is not registered") == std::string::npos, fits) << Log();
  }
}

}  // namespace
}  // namespace vof
