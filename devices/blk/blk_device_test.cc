// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/blk_device.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "devices/blk/store_memory.h"
#include "devices/blk/store_null.h"
#include "devices/blk/testing/driver_double.h"
#include "devices/blk/testing/fake_store.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

constexpr uint64_t kMiB = 1u << 20;

std::shared_ptr<BlkDevice> MakeMemoryDevice(const BlkOptions& options = {}) {
  return *MakeBlkDevice(options,
                        *MakeMemoryStore({.size_bytes = kMiB, .max_size_bytes = 64 * kMiB}));
}

uint64_t Capacity(const Device& device, uint32_t* generation = nullptr) {
  ConfigValue value;
  EXPECT_EQ(device.ReadConfig(0, 8, &value), ConfigError::kNone);
  if (generation != nullptr) *generation = value.generation;
  return value.value * kSectorBytes;
}

TEST(BlkDeviceTest, SaysWhatItIs) {
  const auto device = MakeMemoryDevice({.num_queues = 3, .max_queue_size = 77});
  EXPECT_EQ(device->identity().device_type, 2u);
  EXPECT_EQ(device->num_queues(), 3);
  EXPECT_EQ(device->max_queue_size(), 77);
  EXPECT_FALSE(device->shareable());
  EXPECT_TRUE(MakeMemoryDevice({.read_only = true})->shareable());
  EXPECT_TRUE(MakeMemoryDevice({.shareable = true})->shareable());
  EXPECT_EQ(device->features() & kFeaturesNeverOffered, 0u);
  EXPECT_TRUE(device->OpenQueue(2).ok());
  EXPECT_FALSE(device->OpenQueue(3).ok());
  EXPECT_TRUE((*device->OpenQueue(0))->traits().completes_inline);
  EXPECT_TRUE((*device->OpenQueue(0))->traits().lends_results);
}

TEST(BlkDeviceTest, EpochsOfVolatileStoresDiffer) {
  EXPECT_NE(MakeMemoryDevice()->epoch(), MakeMemoryDevice()->epoch());
  EXPECT_NE((*MakeNullStore(kMiB))->epoch(), (*MakeNullStore(kMiB))->epoch());
}

TEST(BlkDeviceTest, ResizeTellsListenersOncePerChange) {
  const auto device = MakeMemoryDevice();
  int calls = 0;
  uint64_t seen = 0;
  const auto token = device->SubscribeConfig([&] {
    ++calls;
    seen = Capacity(*device);
  });
  uint32_t before = 0, after = 0;
  Capacity(*device, &before);
  EXPECT_TRUE(device->Resize(2 * kMiB).ok());
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(seen, 2 * kMiB);
  Capacity(*device, &after);
  EXPECT_GT(after, before);
  EXPECT_TRUE(device->Resize(2 * kMiB).ok());  // nothing changes
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(device->Resize(kMiB / 2).ok());
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(seen, kMiB / 2);
}

TEST(BlkDeviceTest, ARefusedResizeChangesNothing) {
  const auto device = MakeMemoryDevice();
  int calls = 0;
  const auto token = device->SubscribeConfig([&] { ++calls; });
  for (const uint64_t bad : {uint64_t{0}, kMiB + 1, kMiB * 1024 * 1024}) {
    EXPECT_FALSE(device->Resize(bad).ok());
    EXPECT_EQ(device->capacity_bytes(), kMiB);
  }
  const auto store = std::make_shared<FakeStore>(FakeStore::Options{.size_bytes = kMiB});
  const auto failing = *MakeBlkDevice({}, store);
  const auto other_token = failing->SubscribeConfig([&] { ++calls; });
  for (const uint64_t size : {kMiB / 2, 2 * kMiB}) {
    store->FailNext(StoreStatus::kNoSpace);
    EXPECT_FALSE(failing->Resize(size).ok());
    EXPECT_EQ(Capacity(*failing), kMiB);
  }
  EXPECT_EQ(calls, 0);
}

TEST(BlkDeviceTest, ShrinkingKeepsLentMemoryAndForgetsWhatWasBehindTheEnd) {
  const auto device = MakeMemoryDevice();
  const auto queue = *device->OpenQueue(0);
  queue->Activate(device->features());
  BlkDriverDouble driver(queue.get());
  const uint64_t last = kMiB / kSectorBytes - 1;
  ASSERT_EQ(driver.Run(BlkWriteRequest(last, PatternBytes(512, 1)), 1).status(), kBlkStatusOk);

  struct Sink final : CompletionSink {
    void OnComplete(DeviceRequest*) override {}
  } sink;
  const Bytes header = BlkReadRequest(last);
  const ConstBuffer piece(header.data(), header.size());
  DeviceRequest request;
  request.Reset(&sink);
  request.readable = {&piece, 1};
  request.readable_bytes = static_cast<uint32_t>(header.size());
  request.writable_bytes = 513;
  DeviceRequest* batch[] = {&request};
  queue->Submit(batch);

  ASSERT_TRUE(device->Resize(kMiB / 2).ok());
  EXPECT_EQ(request.result()[0].size_bytes, 512u);
  const volatile std::byte* lent = request.result()[0].data;
  for (size_t i = 0; i < 512; ++i) (void)lent[i];  // still mapped
  EXPECT_EQ(driver.Run(BlkReadRequest(last), 513).status(), kBlkStatusIoError);
  ASSERT_TRUE(device->Resize(kMiB).ok());
  const BlkAnswer again = driver.Run(BlkReadRequest(last), 513);
  EXPECT_EQ(again.status(), kBlkStatusOk);
  for (const std::byte b : again.data()) EXPECT_EQ(b, std::byte{0});
}

// For the thread sanitizer, too.
TEST(BlkDeviceTest, ResizeAndControlWhileInUse) {
  const auto device = MakeMemoryDevice({.num_queues = 2});
  std::atomic<bool> stop = false;
  std::atomic<int> events = 0;
  const auto token = device->SubscribeConfig([&] { ++events; });
  std::vector<std::thread> reactors;
  for (uint16_t q = 0; q < 2; ++q) {
    reactors.emplace_back([&, q] {
      const auto queue = *device->OpenQueue(q);
      queue->Activate(device->features());
      BlkDriverDouble driver(queue.get());
      // Each queue in a half of its own.
      for (uint64_t i = 0; !stop; ++i) {
        const uint64_t sector = q * 512 + i % 512;
        EXPECT_EQ(driver.Run(BlkWriteRequest(sector, PatternBytes(512, i)), 1).status(),
                  kBlkStatusOk);
        EXPECT_EQ(driver.Run(BlkReadRequest(sector), 513).status(), kBlkStatusOk);
        driver.Run(BlkReadRequest(3000), 513);  // there at times
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    EXPECT_TRUE(device->Resize(i % 2 == 0 ? 2 * kMiB : kMiB).ok());
    EXPECT_EQ(device->WriteConfig(32, 1, static_cast<uint64_t>(i % 2)), ConfigError::kNone);
    std::this_thread::yield();
  }
  stop = true;
  for (std::thread& t : reactors) t.join();
  EXPECT_EQ(events, 200);
}

}  // namespace
}  // namespace vof
