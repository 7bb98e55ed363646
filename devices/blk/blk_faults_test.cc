// SPDX-License-Identifier: Apache-2.0
//
// The block device over a store that fails, delays, and loses what was not synced.
#include <algorithm>
#include <memory>
#include <vector>

#include "devices/blk/blk_device.h"
#include "devices/blk/testing/driver_double.h"
#include "devices/blk/testing/fake_store.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

struct Disk {
  std::shared_ptr<FakeStore> store;
  std::shared_ptr<BlkDevice> device;
  std::unique_ptr<DeviceQueue> queue;
};

Disk MakeDisk(uint64_t without_features = 0, const FakeStore::Options& fake = {},
              const BlkOptions& options = {}) {
  Disk disk;
  disk.store = std::make_shared<FakeStore>(fake);
  disk.device = *MakeBlkDevice(options, disk.store);
  disk.queue = *disk.device->OpenQueue(0);
  disk.queue->Activate(disk.device->features() & ~without_features);
  return disk;
}

bool AllZero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

TEST(BlkFaultsTest, FailuresOfTheStoreAreErrorsAndNeverStaleData) {
  for (const BlkCuts cuts : {BlkCuts::kAligned, BlkCuts::kRandom}) {
    Disk disk = MakeDisk(0, {.failures_per_mille = 500});
    BlkDriverDouble driver(disk.queue.get(), cuts);
    int failed = 0;
    for (uint64_t i = 0; i < 300; ++i) {
      driver.Run(BlkWriteRequest(i, PatternBytes(1024, i)), 1);
      const BlkAnswer read = driver.Run(BlkReadRequest(i), 1025);
      ASSERT_EQ(read.bytes.size(), 1025u);
      if (read.status() == kBlkStatusOk) continue;
      EXPECT_EQ(read.status(), kBlkStatusIoError);
      EXPECT_TRUE(AllZero(read.data())) << "half a transfer must not show";
      ++failed;
    }
    EXPECT_GT(failed, 50);
  }
}

TEST(BlkFaultsTest, EveryKindOfRequestReportsAFailure) {
  Disk disk = MakeDisk();
  BlkDriverDouble driver(disk.queue.get());
  for (const StoreStatus status :
       {StoreStatus::kIoError, StoreStatus::kNoSpace, StoreStatus::kCancelled}) {
    for (const Bytes& request :
         {BlkReadRequest(0), BlkWriteRequest(0, Bytes(512)), BlkRequestBytes(kBlkTypeFlush, 0),
          BlkSegmentsRequest(kBlkTypeDiscard, {{0, 1}}),
          BlkSegmentsRequest(kBlkTypeWriteZeroes, {{0, 1}})}) {
      disk.store->FailNext(status);
      EXPECT_EQ(driver.Run(request, 1).status(), kBlkStatusIoError);
      EXPECT_EQ(driver.Run(request, 1).status(), kBlkStatusOk);
    }
  }
}

TEST(BlkFaultsTest, WritesAreVolatileUntilTheFlush) {
  Disk disk = MakeDisk();
  BlkDriverDouble driver(disk.queue.get());
  const Bytes data = PatternBytes(512, 1);
  ASSERT_EQ(driver.Run(BlkWriteRequest(0, data), 1).status(), kBlkStatusOk);
  EXPECT_EQ(disk.store->num_syncs(), 0);
  ASSERT_EQ(driver.Run(BlkRequestBytes(kBlkTypeFlush, 0), 1).status(), kBlkStatusOk);
  EXPECT_EQ(disk.store->num_syncs(), 1);
  ASSERT_EQ(driver.Run(BlkWriteRequest(1, data), 1).status(), kBlkStatusOk);
  const uint64_t epoch = disk.device->epoch();
  disk.store->PowerCut();
  EXPECT_NE(disk.device->epoch(), epoch);
  const BlkAnswer read = driver.Run(BlkReadRequest(0), 1025);
  EXPECT_TRUE(std::equal(data.begin(), data.end(), read.data().begin()));
  EXPECT_TRUE(AllZero(read.data().last(512)));
}

// Each change of the disk survives a power cut right after its completion.
void ExpectEverythingIsDurable(Disk& disk) {
  BlkDriverDouble driver(disk.queue.get());
  int syncs = disk.store->num_syncs();
  const Bytes data = PatternBytes(512 * 8, 1);
  ASSERT_EQ(driver.Run(BlkWriteRequest(0, data), 1).status(), kBlkStatusOk);
  EXPECT_EQ(disk.store->num_syncs(), ++syncs);
  disk.store->PowerCut();
  BlkAnswer read = driver.Run(BlkReadRequest(0), 512 * 8 + 1);
  EXPECT_TRUE(std::equal(data.begin(), data.end(), read.data().begin()));
  for (const uint32_t type : {kBlkTypeDiscard, kBlkTypeWriteZeroes}) {
    const uint64_t sector = type == kBlkTypeDiscard ? 0 : 4;
    if (driver.Run(BlkSegmentsRequest(type, {{sector, 4}}), 1).status() != kBlkStatusOk) continue;
    EXPECT_EQ(disk.store->num_syncs(), ++syncs);
    disk.store->PowerCut();
    read = driver.Run(BlkReadRequest(sector), 512 * 4 + 1);
    EXPECT_TRUE(AllZero(read.data()));
  }
}

TEST(BlkFaultsTest, WritesAreDurableWhenFlushWasNotNegotiated) {
  Disk disk = MakeDisk(kBlkFeatureFlush | kBlkFeatureConfigWce);
  ExpectEverythingIsDurable(disk);
  Disk only_wce = MakeDisk(kBlkFeatureFlush);
  ExpectEverythingIsDurable(only_wce);
  Disk nothing = MakeDisk(~uint64_t{0});
  ExpectEverythingIsDurable(nothing);
}

TEST(BlkFaultsTest, WritesAreDurableWhileTheCacheIsOff) {
  Disk disk = MakeDisk(0, {}, {.write_cache = false});
  ExpectEverythingIsDurable(disk);
  Disk switched = MakeDisk();
  ASSERT_EQ(switched.device->WriteConfig(32, 1, 0), ConfigError::kNone);
  ExpectEverythingIsDurable(switched);
  ASSERT_EQ(switched.device->WriteConfig(32, 1, 1), ConfigError::kNone);
  BlkDriverDouble driver(switched.queue.get());
  const int syncs = switched.store->num_syncs();
  driver.Run(BlkWriteRequest(0, Bytes(512)), 1);
  EXPECT_EQ(switched.store->num_syncs(), syncs);
}

TEST(BlkFaultsTest, OnSharedDevicesNoDriverEndsTheDurabilityOfAnother) {
  Disk disk = MakeDisk(0, {}, {.write_cache = false, .shareable = true});
  ASSERT_EQ(disk.device->features() & kBlkFeatureConfigWce, 0u);
  const auto other = *disk.device->OpenQueue(1);
  other->Activate(disk.device->features());
  EXPECT_EQ(disk.device->WriteConfig(32, 1, 1), ConfigError::kReadOnly);
  ExpectEverythingIsDurable(disk);
  // Nor does what another one negotiates: each has rules of its own.
  Disk cached = MakeDisk(kBlkFeatureFlush, {}, {.shareable = true});
  const auto relaxed = *cached.device->OpenQueue(1);
  relaxed->Activate(cached.device->features());
  ExpectEverythingIsDurable(cached);
}

TEST(BlkFaultsTest, AQueueThatWasNeverActivatedIsCareful) {
  Disk disk = MakeDisk();
  disk.queue = *disk.device->OpenQueue(1);
  BlkDriverDouble driver(disk.queue.get());
  EXPECT_EQ(driver.Run(BlkRequestBytes(kBlkTypeFlush, 0), 1).status(), kBlkStatusUnsupported);
  EXPECT_EQ(driver.Run(BlkWriteRequest(0, Bytes(512)), 1).status(), kBlkStatusOk);
  EXPECT_EQ(disk.store->num_syncs(), 1);
}

TEST(BlkFaultsTest, NegotiatingAgainChangesTheRules) {
  Disk disk = MakeDisk(~uint64_t{0});
  disk.queue->Activate(disk.device->features());
  BlkDriverDouble driver(disk.queue.get());
  EXPECT_EQ(driver.Run(BlkRequestBytes(kBlkTypeFlush, 0), 1).status(), kBlkStatusOk);
}

TEST(BlkFaultsTest, CancelledRequestsCompleteWithAnError) {
  Disk disk = MakeDisk();
  disk.store->Hold(true);
  BlkDriverDouble driver(disk.queue.get());
  const std::vector<std::pair<Bytes, uint32_t>> batch(150, {BlkReadRequest(0), 513});
  const std::vector<int> ids = driver.Start(batch);
  disk.queue->Poll();
  EXPECT_EQ(driver.outstanding(), 150u);
  disk.queue->CancelAll();
  for (const int id : ids) {
    const BlkAnswer answer = driver.Wait(id);
    EXPECT_EQ(answer.status(), kBlkStatusIoError);
    EXPECT_TRUE(AllZero(answer.data()));
  }
  EXPECT_EQ(disk.store->num_operations(), 0);
}

}  // namespace
}  // namespace vof
