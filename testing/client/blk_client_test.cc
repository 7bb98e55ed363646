// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/client/blk_client.h"

#include <algorithm>
#include <future>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "testing/client/client_fixture.h"

namespace vof {
namespace {

class BlkClientTest : public ClientFixture {};

std::vector<std::byte> RandomBytes(size_t size_bytes, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(size_bytes);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

TEST_P(BlkClientTest, KnowsTheDevice) {
  auto client = Connect();
  ASSERT_NE(client, nullptr);
  const BlkInfo info = client->info();
  EXPECT_EQ(info.capacity_bytes, kDiskBytes);
  EXPECT_EQ(info.block_bytes, 512u);
  EXPECT_EQ(info.serial, "serial-1");
  EXPECT_FALSE(info.read_only);
  EXPECT_TRUE(info.can_flush && info.can_discard && info.can_write_zeroes);
  EXPECT_EQ(info.num_queues, 4);
  EXPECT_GE(info.max_transfer_bytes, 512u << 10);
}

TEST_P(BlkClientTest, WhatIsWrittenIsReadBack) {
  auto client = Connect("queues=2");
  ASSERT_NE(client, nullptr);
  const std::vector<std::byte> data = RandomBytes(kDiskBytes, 1);
  absl::Status status = client->Write(0, data);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_TRUE(client->Flush().ok());
  std::vector<std::byte> back(kDiskBytes);
  status = client->Read(0, back);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(back == data);
  for (const size_t bytes : {512u, 1024u, 4096u, 65536u, 131072u, 262144u + 512u}) {
    std::vector<std::byte> part(bytes);
    ASSERT_TRUE(client->Read(7 * 512, part).ok());
    EXPECT_TRUE(std::equal(part.begin(), part.end(), data.begin() + 7 * 512)) << bytes;
  }
}

TEST_P(BlkClientTest, DiscardAndZeroesReadAsZeros) {
  auto client = Connect();
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(client->Write(0, RandomBytes(kDiskBytes, 2)).ok());
  absl::Status status = client->WriteZeroes(4096, 5u << 20, false);
  ASSERT_TRUE(status.ok()) << status;
  status = client->Discard(6u << 20, 1u << 20);
  ASSERT_TRUE(status.ok()) << status;
  std::vector<std::byte> back(kDiskBytes);
  ASSERT_TRUE(client->Read(0, back).ok());
  const auto zero = [&](size_t from, size_t to) {
    return std::all_of(back.begin() + static_cast<ptrdiff_t>(from),
                       back.begin() + static_cast<ptrdiff_t>(to),
                       [](std::byte byte) { return byte == std::byte{0}; });
  };
  EXPECT_TRUE(zero(4096, 4096 + (5u << 20)));
  EXPECT_TRUE(zero(6u << 20, 7u << 20));
  EXPECT_FALSE(zero(0, 4096));
  EXPECT_FALSE(zero(7u << 20, 8u << 20));
}

TEST_P(BlkClientTest, RangesAreCheckedBeforeAnythingIsSent) {
  auto client = Connect();
  ASSERT_NE(client, nullptr);
  std::vector<std::byte> data(1024);
  EXPECT_TRUE(absl::IsInvalidArgument(client->Read(1, data)));
  EXPECT_TRUE(absl::IsInvalidArgument(client->Read(0, std::span(data).first(100))));
  EXPECT_TRUE(absl::IsOutOfRange(client->Read(kDiskBytes - 512, data)));
  EXPECT_TRUE(absl::IsOutOfRange(client->Write(~uint64_t{0} - 511, data)));
  EXPECT_TRUE(client->Read(kDiskBytes - 1024, data).ok());
}

TEST_P(BlkClientTest, ManyThreadsMayCall) {
  auto client = Connect("queues=4");
  ASSERT_NE(client, nullptr);
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (uint64_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const uint64_t offset = t << 20;
      for (int i = 0; i < 10; ++i) {
        const std::vector<std::byte> data = RandomBytes(300u << 10, t * 100 + i);
        std::vector<std::byte> back(data.size());
        if (!client->Write(offset, data).ok() || !client->Read(offset, back).ok()) ++failures;
        if (back != data) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

TEST_P(BlkClientTest, WriteCacheCanBeSet) {
  auto client = Connect();
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(client->info().can_set_cache);
  for (const bool on : {false, true}) {
    const absl::Status status = client->SetWriteCache(on);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(client->info().write_cache, on);
  }
}

// A read and a write of four pieces each, from the reactor's thread.
TEST_P(BlkClientTest, ScatteredRequestsFromTheReactor) {
  auto client = Connect();
  ASSERT_NE(client, nullptr);
  BlkClientQueue& queue = client->queue(0);
  std::vector<std::byte> data = RandomBytes(64u << 10, 5), back(data.size());
  std::vector<ConstBuffer> from;
  std::vector<MutableBuffer> into;
  for (const size_t cut : {0u, 512u, 5000u, 5000u, 60000u}) {
    from.emplace_back(data.data() + cut, 0);
    into.emplace_back(back.data() + cut, 0);
  }
  for (size_t i = 0; i < from.size(); ++i) {
    const std::byte* end = i + 1 < from.size() ? from[i + 1].data : data.data() + data.size();
    from[i].size_bytes = into[i].size_bytes = static_cast<size_t>(end - from[i].data);
  }
  for (const bool write : {true, false}) {
    BlkIo io;
    std::promise<BlkError> done;
    io.context = &done;
    io.done = [](BlkIo* finished) {
      static_cast<std::promise<BlkError>*>(finished->context)->set_value(finished->error);
    };
    queue.Post([&] {
      if (write) {
        queue.Write(&io, 1024, from);
      } else {
        queue.Read(&io, 1024, into);
      }
    });
    EXPECT_EQ(done.get_future().get(), BlkError::kNone);
  }
  EXPECT_TRUE(back == data);
}

TEST_P(BlkClientTest, TooManyPiecesAreTold) {
  auto client = Connect();
  ASSERT_NE(client, nullptr);
  BlkClientQueue& queue = client->queue(0);
  std::vector<std::byte> data(512 * (kBlkIoPieces + 1));
  std::vector<MutableBuffer> pieces;
  for (size_t i = 0; i <= kBlkIoPieces; ++i) pieces.emplace_back(data.data() + i * 512, 512);
  BlkIo io;
  std::promise<BlkError> done;
  io.context = &done;
  io.done = [](BlkIo* finished) {
    static_cast<std::promise<BlkError>*>(finished->context)->set_value(finished->error);
  };
  queue.Post([&] { queue.Read(&io, 0, pieces); });
  EXPECT_EQ(done.get_future().get(), BlkError::kTooLarge);
}

INSTANTIATE_TEST_SUITE_P(Fabrics, BlkClientTest, EveryFabricAndDialect(), FabricAndDialect);

}  // namespace
}  // namespace vof
