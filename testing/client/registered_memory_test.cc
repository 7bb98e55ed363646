// SPDX-License-Identifier: Apache-2.0
//
// Memory that the user of a client registers: what is copied and what is not, and when its
// registration ends.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/runtime/client.h"
#include "core/runtime/reactor_thread.h"
#include "devices/blk/testing/fake_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/client/client_fixture.h"

namespace vof {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr size_t kIoBytes = 128u << 10;
// Above what requests need beside their data, below what is copied: `ref` cuts data into segments.
constexpr size_t kCopyBytes = 32u << 10;
constexpr size_t kArenaBytes = 1u << 20;

class RegisteredMemoryTest : public ClientFixture {
 protected:
  // "disk1" is a disk that keeps its requests when told to.
  void SetUp() override {
    ClientFixture::SetUp();
    store_ = std::make_shared<FakeStore>(FakeStore::Options{.size_bytes = 4u << 20});
    auto device = MakeBlkDevice({.serial = "slow"}, store_);
    ASSERT_TRUE(device.ok()) << device.status();
    ASSERT_TRUE(target_->AddDevice("disk1", *device).ok());
    auto thread = ReactorThread::Start({.name = "client"});
    ASSERT_TRUE(thread.ok()) << thread.status();
    thread_ = *std::move(thread);
  }
  void TearDown() override {
    store_->Hold(false);
    client_.reset();
    ClientFixture::TearDown();
  }
  void Open(const std::string& name = "disk1", const std::string& options = "",
            RequestRegistration registration = {}) {
    DeviceClientOptions client_options;
    client_options.reactors = {thread_->reactor()};
    client_options.request_registration = registration;
    auto client = BlkClient::Connect(TheUri(options, name), &registry_, client_options);
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
  }
  bool keyed() const { return fabric().is_keyed(); }
  absl::StatusOr<MemoryRegistration> Register(size_t from, size_t bytes) {
    return client_->device().RegisterMemory({arena_.data() + from, bytes});
  }
  // Of the client's pool, for requests and their copies.
  size_t PoolBytes() {
    size_t bytes = 0;
    thread_->RunAndWait([&] { bytes = thread_->reactor()->pool().in_use_bytes(); });
    return bytes;
  }
  // Begins to read to `at` of the arena, and returns when the target has the request.
  std::future<BlkError> BeginRead(size_t at, size_t bytes = kIoBytes) {
    const int before = store_->num_submitted();
    auto io = std::make_shared<BlkIo>();
    auto done = std::make_shared<std::promise<BlkError>>();
    std::future<BlkError> error = done->get_future();
    struct Context {
      std::shared_ptr<BlkIo> io;
      std::shared_ptr<std::promise<BlkError>> done;
    };
    io->context = new Context{io, done};
    io->done = [](BlkIo* finished) {
      const std::unique_ptr<Context> context(static_cast<Context*>(finished->context));
      context->done->set_value(finished->error);
    };
    BlkClientQueue& queue = client_->queue(0);
    queue.Post([&queue, io, this, at, bytes] {
      queue.Read(io.get(), 0, MutableBuffer(arena_.data() + at, bytes));
    });
    for (int i = 0; i < 5000 && store_->num_submitted() == before; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_GT(store_->num_submitted(), before) << "it has reached the device";
    return error;
  }

  std::shared_ptr<FakeStore> store_;
  std::unique_ptr<ReactorThread> thread_;
  std::vector<std::byte> arena_ = std::vector<std::byte>(kArenaBytes);
  std::unique_ptr<BlkClient> client_;
};

TEST_P(RegisteredMemoryTest, RequestsInItAreNotCopied) {
  ASSERT_NO_FATAL_FAILURE(Open());
  auto arena = Register(3, kArenaBytes - 5);
  ASSERT_TRUE(arena.ok()) << arena.status();
  store_->Hold(true);
  auto inside = BeginRead(7);
  EXPECT_LT(PoolBytes(), kCopyBytes);
  auto outside = BeginRead(0);
  if (keyed()) {
    EXPECT_GE(PoolBytes(), kCopyBytes) << "it begins before the arena";
  }
  store_->Hold(false);
  EXPECT_EQ(inside.get(), BlkError::kNone);
  EXPECT_EQ(outside.get(), BlkError::kNone);
}

TEST_P(RegisteredMemoryTest, WhatIsWrittenAndReadIsTheSame) {
  ASSERT_NO_FATAL_FAILURE(Open("disk0", "queues=2"));
  // Odd borders, and requests inside, outside and across.
  auto first = Register(1001, 300'000), second = Register(301'001, 400'001);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(second.ok()) << second.status();
  std::vector<std::byte> copy(kIoBytes);
  for (size_t at = 0; at + kIoBytes <= kArenaBytes; at += 23'457) {
    for (size_t i = 0; i < kIoBytes; ++i) {
      arena_[at + i] = copy[i] = static_cast<std::byte>(i * 7 + at);
    }
    const std::span<std::byte> piece(arena_.data() + at, kIoBytes);
    ASSERT_TRUE(client_->Write(0, piece).ok());
    std::fill(piece.begin(), piece.end(), std::byte{0});
    ASSERT_TRUE(client_->Read(0, piece).ok());
    ASSERT_EQ(std::memcmp(piece.data(), copy.data(), kIoBytes), 0) << at;
  }
}

TEST_P(RegisteredMemoryTest, EndingWaitsForRequestsInFlight) {
  ASSERT_NO_FATAL_FAILURE(Open());
  auto arena = Register(0, kArenaBytes);
  ASSERT_TRUE(arena.ok()) << arena.status();
  store_->Hold(true);
  auto shown = BeginRead(0);
  std::atomic<bool> ended = false;
  std::thread ending([&] {
    arena->End();
    ended = true;
  });
  if (keyed()) {
    // Requests that are sent from now on are copied.
    std::vector<std::future<BlkError>> more;
    while (PoolBytes() < kCopyBytes && more.size() < 100) {
      more.push_back(BeginRead(kIoBytes));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_GE(PoolBytes(), kCopyBytes);
    EXPECT_FALSE(ended);
  }
  store_->Hold(false);
  EXPECT_EQ(shown.get(), BlkError::kNone);
  ending.join();
  EXPECT_TRUE(ended);
  auto again = Register(0, kArenaBytes);
  EXPECT_TRUE(again.ok()) << again.status();
}

TEST_P(RegisteredMemoryTest, EndingWaitsForALostConnection) {
  ASSERT_NO_FATAL_FAILURE(Open("disk1", "io_timeout=300ms"));
  auto arena = Register(0, kArenaBytes);
  ASSERT_TRUE(arena.ok()) << arena.status();
  store_->Hold(true);
  auto late = BeginRead(0);
  arena->End();
  if (keyed()) {
    EXPECT_EQ(late.wait_for(std::chrono::seconds(5)), std::future_status::ready);
  }
  EXPECT_EQ(late.get(), BlkError::kTimedOut);
}

TEST_P(RegisteredMemoryTest, ItMayOutliveItsClient) {
  ASSERT_NO_FATAL_FAILURE(Open());
  auto arena = Register(0, kArenaBytes);
  ASSERT_TRUE(arena.ok()) << arena.status();
  client_.reset();
  thread_.reset();
  arena->End();
}

TEST_P(RegisteredMemoryTest, AClientWithThreadsOfItsOwnMayGoFirst) {
  DeviceClientOptions options;
  options.own_reactors = 2;
  auto client = BlkClient::Connect(TheUri("queues=3"), &registry_, options);
  ASSERT_TRUE(client.ok()) << client.status();
  auto arena = (*client)->device().RegisterMemory({arena_.data(), arena_.size()});
  ASSERT_TRUE(arena.ok()) << arena.status();
  for (int i = 0; i < 6; ++i) EXPECT_TRUE((*client)->Read(0, arena_).ok());
  (*client)->device().Disconnect();
  const auto late = (*client)->device().RegisterMemory({arena_.data(), 1});
  EXPECT_EQ(FailureKindOf(late.status()), FailureKind::kClosed) << late.status();
  client->reset();
}

TEST_P(RegisteredMemoryTest, OverlapsAreRefused) {
  ASSERT_NO_FATAL_FAILURE(Open());
  auto arena = Register(1000, 1000);
  ASSERT_TRUE(arena.ok()) << arena.status();
  for (const auto& [from, bytes] :
       {std::pair<size_t, size_t>{1999, 10}, {500, 501}, {0, 5000}, {1200, 10}}) {
    const auto overlapping = Register(from, bytes);
    EXPECT_TRUE(absl::IsAlreadyExists(overlapping.status())) << from;
    EXPECT_THAT(std::string(overlapping.status().message()),
                AllOf(HasSubstr("overlap"), HasSubstr("1000 bytes"), HasSubstr("/disk1")));
  }
  EXPECT_TRUE(absl::IsInvalidArgument(Register(0, 0).status()));
  const auto before = Register(500, 500), behind = Register(2000, 10);
  EXPECT_TRUE(before.ok()) << before.status();
  EXPECT_TRUE(behind.ok()) << behind.status();
  arena->End();
  EXPECT_TRUE(Register(1000, 1000).ok());
}

TEST_P(RegisteredMemoryTest, ComingAndGoingUnderLoad) {
  ASSERT_NO_FATAL_FAILURE(Open("disk0", "queues=3"));
  std::atomic<bool> stop = false;
  std::vector<std::thread> readers;
  std::vector<std::byte> contents(kIoBytes);
  for (size_t i = 0; i < kIoBytes; ++i) contents[i] = static_cast<std::byte>(i * 13);
  ASSERT_TRUE(client_->Write(0, contents).ok());
  std::atomic<int> wrong = 0;
  for (size_t reader = 0; reader < 3; ++reader) {
    readers.emplace_back([&, reader] {
      const std::span<std::byte> into(arena_.data() + reader * kIoBytes, kIoBytes);
      while (!stop) {
        std::fill(into.begin(), into.end(), std::byte{0});
        const bool ok = client_->Read(0, into).ok();
        wrong += !ok || std::memcmp(into.data(), contents.data(), kIoBytes) != 0;
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    auto arena = Register(i % 7, 3 * kIoBytes - 20);
    EXPECT_TRUE(arena.ok()) << arena.status();
    if (i % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(RegisteredMemoryTest, LargePiecesCanBeRegisteredForTheirRequest) {
  ASSERT_NO_FATAL_FAILURE(Open("disk1", "", {.from_bytes = kCopyBytes}));
  store_->Hold(true);
  auto large = BeginRead(1);
  EXPECT_LT(PoolBytes(), kCopyBytes);
  store_->Hold(false);
  EXPECT_EQ(large.get(), BlkError::kNone);
  std::vector<std::byte> back(kArenaBytes);
  for (size_t i = 0; i < kArenaBytes; ++i) arena_[i] = static_cast<std::byte>(i * 11);
  ASSERT_TRUE(client_->Write(0, arena_).ok());
  ASSERT_TRUE(client_->Read(0, back).ok());
  EXPECT_EQ(back, arena_);
}

INSTANTIATE_TEST_SUITE_P(Fabrics, RegisteredMemoryTest, EveryFabricAndDialect(), FabricAndDialect);

}  // namespace
}  // namespace vof
