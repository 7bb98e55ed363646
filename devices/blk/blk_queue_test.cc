// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/blk_queue.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "devices/blk/blk_device.h"
#include "devices/blk/store_memory.h"
#include "devices/blk/store_null.h"
#include "devices/blk/testing/driver_double.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

constexpr uint64_t kDiskBytes = 256u << 10;
constexpr uint64_t kDiskSectors = kDiskBytes / kSectorBytes;
constexpr uint64_t kAllFeatures = ~uint64_t{0};

struct Disk {
  std::shared_ptr<BlkDevice> device;
  std::unique_ptr<DeviceQueue> queue;
};

Disk MakeMemoryDisk(const BlkOptions& options = {}, uint64_t driver_features = kAllFeatures) {
  auto store = MakeMemoryStore({.size_bytes = kDiskBytes});
  Disk disk;
  disk.device = *MakeBlkDevice(options, *store);
  disk.queue = *disk.device->OpenQueue(0);
  disk.queue->Activate(driver_features & disk.device->features());
  return disk;
}

bool AllZero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

class BlkQueueTest : public ::testing::TestWithParam<BlkCuts> {
 protected:
  BlkAnswer Run(Disk& disk, Bytes readable, uint32_t writable_bytes) {
    BlkDriverDouble driver(disk.queue.get(), GetParam(), /*seed=*/++seed_);
    return driver.Run(std::move(readable), writable_bytes);
  }
  uint8_t Status(Disk& disk, Bytes readable, uint32_t writable_bytes = 1) {
    return Run(disk, std::move(readable), writable_bytes).status();
  }
  Bytes ReadAll(Disk& disk) {
    const BlkAnswer answer = Run(disk, BlkReadRequest(0), kDiskBytes + 1);
    EXPECT_EQ(answer.status(), kBlkStatusOk);
    return Bytes(answer.data().begin(), answer.data().end());
  }

 private:
  uint32_t seed_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Cuts, BlkQueueTest,
                         ::testing::Values(BlkCuts::kAligned, BlkCuts::kRandom));

TEST_P(BlkQueueTest, ReadsWhatWasWritten) {
  Disk disk = MakeMemoryDisk();
  const Bytes data = PatternBytes(3 * kSectorBytes, 1);
  EXPECT_EQ(Status(disk, BlkWriteRequest(5, data)), kBlkStatusOk);
  const BlkAnswer answer = Run(disk, BlkReadRequest(4), 5 * kSectorBytes + 1);
  ASSERT_EQ(answer.bytes.size(), 5 * kSectorBytes + 1);
  EXPECT_EQ(answer.status(), kBlkStatusOk);
  EXPECT_TRUE(AllZero(answer.data().first(kSectorBytes)));
  EXPECT_TRUE(std::equal(data.begin(), data.end(), answer.data().begin() + kSectorBytes));
  EXPECT_TRUE(AllZero(answer.data().last(kSectorBytes)));
}

TEST_P(BlkQueueTest, MoreSegmentsThanAdvertisedAreServed) {
  Disk disk = MakeMemoryDisk();
  const Bytes data = PatternBytes(kDiskBytes, 2);
  EXPECT_EQ(Status(disk, BlkWriteRequest(0, data)), kBlkStatusOk);
  EXPECT_EQ(ReadAll(disk), data);
}

TEST_P(BlkQueueTest, NoRoomForAStatusFailsTheRequest) {
  Disk disk = MakeMemoryDisk();
  const BlkAnswer answer = Run(disk, BlkWriteRequest(0, PatternBytes(kSectorBytes, 1)), 0);
  EXPECT_TRUE(answer.failed);
  EXPECT_TRUE(answer.bytes.empty());
  EXPECT_TRUE(AllZero(ReadAll(disk)));
}

TEST_P(BlkQueueTest, ShortHeaderIsAnError) {
  Disk disk = MakeMemoryDisk();
  for (size_t size = 0; size < sizeof(BlkRequestHeader); ++size) {
    Bytes bytes = BlkReadRequest(0);
    bytes.resize(size);
    const BlkAnswer answer = Run(disk, bytes, kSectorBytes + 1);
    EXPECT_EQ(answer.status(), kBlkStatusIoError);
    EXPECT_TRUE(AllZero(answer.data()));
    EXPECT_EQ(answer.bytes.size(), kSectorBytes + 1);
  }
}

TEST_P(BlkQueueTest, UnknownTypesAreUnsupported) {
  Disk disk = MakeMemoryDisk();
  for (const uint32_t type :
       {2u, 3u, 5u, 6u, 7u, 9u, 10u, 12u, 14u, 15u, 24u, 0x80000000u, 0xffffffffu}) {
    const BlkAnswer answer = Run(disk, BlkRequestBytes(type, 0), 3);
    EXPECT_EQ(answer.status(), kBlkStatusUnsupported) << type;
    EXPECT_EQ(answer.bytes.size(), 3u);
    EXPECT_TRUE(AllZero(answer.data()));
  }
}

TEST_P(BlkQueueTest, TypesThatWereNotNegotiatedAreUnsupported) {
  Disk disk = MakeMemoryDisk({}, /*driver_features=*/0);
  EXPECT_EQ(Status(disk, BlkRequestBytes(kBlkTypeFlush, 0)), kBlkStatusUnsupported);
  for (const uint32_t type : {kBlkTypeDiscard, kBlkTypeWriteZeroes}) {
    EXPECT_EQ(Status(disk, BlkSegmentsRequest(type, {{0, 8}})), kBlkStatusUnsupported);
  }
  EXPECT_EQ(Status(disk, BlkWriteRequest(0, PatternBytes(kSectorBytes, 1))), kBlkStatusOk);
}

TEST_P(BlkQueueTest, SectorsPastTheEndAreErrorsWithoutEffect) {
  Disk disk = MakeMemoryDisk();
  const Bytes data = PatternBytes(2 * kSectorBytes, 3);
  const Bytes before = ReadAll(disk);
  for (const uint64_t sector : {kDiskSectors - 1, kDiskSectors, kDiskSectors + 1, uint64_t{1} << 55,
                                ~uint64_t{0}, ~uint64_t{0} - 1, uint64_t{1} << 63}) {
    EXPECT_EQ(Status(disk, BlkWriteRequest(sector, data)), kBlkStatusIoError) << sector;
    const BlkAnswer read = Run(disk, BlkReadRequest(sector), 2 * kSectorBytes + 1);
    EXPECT_EQ(read.status(), kBlkStatusIoError) << sector;
    EXPECT_EQ(read.bytes.size(), 2 * kSectorBytes + 1);
    EXPECT_TRUE(AllZero(read.data()));
  }
  EXPECT_EQ(ReadAll(disk), before);
  EXPECT_EQ(Status(disk, BlkWriteRequest(kDiskSectors - 2, data)), kBlkStatusOk);
  EXPECT_EQ(Status(disk, BlkReadRequest(kDiskSectors - 1), kSectorBytes + 1), kBlkStatusOk);
  EXPECT_EQ(Status(disk, BlkReadRequest(kDiskSectors), 1),
            kBlkStatusOk);  // nothing at the very end
}

TEST_P(BlkQueueTest, DataThatIsNotWholeSectorsIsAnError) {
  Disk disk = MakeMemoryDisk();
  for (const uint32_t size : {1u, 511u, 513u, 1023u}) {
    EXPECT_EQ(Status(disk, BlkWriteRequest(0, PatternBytes(size, 1))), kBlkStatusIoError);
    const BlkAnswer read = Run(disk, BlkReadRequest(0), size + 1);
    EXPECT_EQ(read.status(), kBlkStatusIoError);
    EXPECT_EQ(read.bytes.size(), size + 1);
  }
  EXPECT_TRUE(AllZero(ReadAll(disk)));
}

TEST_P(BlkQueueTest, ReadOnlyDiskRefusesEveryChange) {
  auto store = *MakeMemoryStore({.size_bytes = kDiskBytes});
  Disk disk;
  disk.device = *MakeBlkDevice({.read_only = true}, store);
  disk.queue = *disk.device->OpenQueue(0);
  disk.queue->Activate(disk.device->features());
  EXPECT_EQ(Status(disk, BlkWriteRequest(0, PatternBytes(kSectorBytes, 1))), kBlkStatusIoError);
  EXPECT_EQ(Status(disk, BlkSegmentsRequest(kBlkTypeDiscard, {{0, 8}})), kBlkStatusIoError);
  EXPECT_EQ(Status(disk, BlkSegmentsRequest(kBlkTypeWriteZeroes, {{0, 8}})), kBlkStatusIoError);
  EXPECT_EQ(Status(disk, BlkRequestBytes(kBlkTypeFlush, 0)), kBlkStatusOk);
  EXPECT_TRUE(AllZero(ReadAll(disk)));
}

TEST_P(BlkQueueTest, IdIsPaddedCutAndNeverLongerThanTwentyBytes) {
  for (const std::string serial : {"", "short", "exactly-20-character"}) {
    Disk disk = MakeMemoryDisk({.serial = serial});
    for (const uint32_t size : {0u, 1u, 19u, 20u, 21u, 512u, 4096u}) {
      const BlkAnswer answer = Run(disk, BlkRequestBytes(kBlkTypeGetId, 0), size + 1);
      EXPECT_EQ(answer.status(), kBlkStatusOk);
      ASSERT_EQ(answer.data().size(), size);
      Bytes expected(size);
      std::transform(serial.begin(), serial.begin() + std::min<size_t>(size, serial.size()),
                     expected.begin(), [](char c) { return static_cast<std::byte>(c); });
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), answer.data().begin()));
    }
  }
}

TEST_P(BlkQueueTest, DiscardAndWriteZeroesChangeOnlyTheirRanges) {
  for (const uint32_t type : {kBlkTypeDiscard, kBlkTypeWriteZeroes}) {
    for (const uint32_t flags : {0u, kBlkSegmentFlagUnmap}) {
      if (type == kBlkTypeDiscard && flags != 0) continue;
      Disk disk = MakeMemoryDisk();
      Bytes model = PatternBytes(kDiskBytes, 4);
      ASSERT_EQ(Status(disk, BlkWriteRequest(0, model)), kBlkStatusOk);
      ASSERT_EQ(Status(disk, BlkSegmentsRequest(
                                 type, {{3, 100, flags}, {300, 0, flags}, {200, 9, flags}})),
                kBlkStatusOk);
      std::fill_n(model.begin() + 3 * kSectorBytes, 100 * kSectorBytes, std::byte{0});
      std::fill_n(model.begin() + 200 * kSectorBytes, 9 * kSectorBytes, std::byte{0});
      EXPECT_EQ(ReadAll(disk), model);
    }
  }
}

TEST_P(BlkQueueTest, BadSegmentsAreRefusedBeforeAnyEffect) {
  Disk disk = MakeMemoryDisk();
  const Bytes before = PatternBytes(kDiskBytes, 5);
  ASSERT_EQ(Status(disk, BlkWriteRequest(0, before)), kBlkStatusOk);
  const auto expect = [&](uint32_t type, TestSegment bad, uint8_t status) {
    EXPECT_EQ(Status(disk, BlkSegmentsRequest(type, {{0, 8}, bad})), status)
        << type << " " << bad.sector << " " << bad.num_sectors << " " << bad.flags;
  };
  for (const uint32_t type : {kBlkTypeDiscard, kBlkTypeWriteZeroes}) {
    expect(type, {0, 0x800000}, kBlkStatusIoError);
    expect(type, {0, 0xffffffff}, kBlkStatusIoError);
    expect(type, {0, kBlkMaxDiscardSectors + 1}, kBlkStatusIoError);
    expect(type, {kDiskSectors - 7, 8}, kBlkStatusIoError);
    expect(type, {kDiskSectors, 1}, kBlkStatusIoError);
    expect(type, {~uint64_t{0}, 1}, kBlkStatusIoError);
    expect(type, {~uint64_t{0} - 7, 8}, kBlkStatusIoError);
    expect(type, {8, 8, 2}, kBlkStatusUnsupported);
    expect(type, {8, 8, 0x80000000}, kBlkStatusUnsupported);
  }
  expect(kBlkTypeDiscard, {8, 8, kBlkSegmentFlagUnmap}, kBlkStatusUnsupported);
  const std::vector<TestSegment> many(kBlkMaxRanges + 1, TestSegment{8, 8});
  for (const uint32_t type : {kBlkTypeDiscard, kBlkTypeWriteZeroes}) {
    EXPECT_EQ(Status(disk, BlkSegmentsRequest(type, many)), kBlkStatusIoError);
    EXPECT_EQ(Status(disk, BlkRequestBytes(type, 0)), kBlkStatusIoError);
    EXPECT_EQ(Status(disk, BlkRequestBytes(type, 0, PatternBytes(17, 1))), kBlkStatusIoError);
  }
  EXPECT_EQ(ReadAll(disk), before);
}

TEST_P(BlkQueueTest, SpareWritableBytesAreZeroAndTheStatusIsLast) {
  Disk disk = MakeMemoryDisk();
  for (const Bytes& request :
       {BlkWriteRequest(0, PatternBytes(kSectorBytes, 1)), BlkRequestBytes(kBlkTypeFlush, 0)}) {
    const BlkAnswer answer = Run(disk, request, 100);
    ASSERT_EQ(answer.bytes.size(), 100u);
    EXPECT_EQ(answer.status(), kBlkStatusOk);
    EXPECT_TRUE(AllZero(answer.data()));
  }
}

TEST_P(BlkQueueTest, LargestRequestIsServedAndMoreIsAnError) {
  auto store = *MakeNullStore(1ull << 40);
  Disk disk;
  disk.device = *MakeBlkDevice({}, store);
  disk.queue = *disk.device->OpenQueue(0);
  const BlkAnswer read = Run(disk, BlkReadRequest(7), kMaxDataBytes + 1);
  EXPECT_EQ(read.status(), kBlkStatusOk);
  EXPECT_EQ(read.bytes.size(), kMaxDataBytes + 1);
  const BlkAnswer longer = Run(disk, BlkReadRequest(7), kMaxDataBytes + kSectorBytes + 1);
  EXPECT_EQ(longer.status(), kBlkStatusIoError);
  EXPECT_EQ(longer.bytes.size(), kMaxDataBytes + kSectorBytes + 1);
  EXPECT_EQ(Status(disk, BlkWriteRequest(0, Bytes(kMaxDataBytes))), kBlkStatusOk);
  EXPECT_EQ(Status(disk, BlkWriteRequest(0, Bytes(kMaxDataBytes + kSectorBytes))),
            kBlkStatusIoError);
}

TEST(BlkQueueBatchTest, ABatchLargerThanTheStoreBatchIsServedInOrder) {
  Disk disk = MakeMemoryDisk();
  BlkDriverDouble driver(disk.queue.get());
  std::vector<std::pair<Bytes, uint32_t>> batch;
  for (uint64_t i = 0; i < 3 * kStoreBatch + 1; ++i) {
    batch.emplace_back(BlkWriteRequest(i, PatternBytes(kSectorBytes, i)), 1);
    batch.emplace_back(BlkReadRequest(i), kSectorBytes + 1);
    batch.emplace_back(BlkRequestBytes(99, i), 1);
  }
  const std::vector<int> ids = driver.Start(batch);
  for (size_t i = 0; i < ids.size(); i += 3) {
    EXPECT_EQ(driver.Wait(ids[i]).status(), kBlkStatusOk);
    const BlkAnswer read = driver.Wait(ids[i + 1]);
    const Bytes expected = PatternBytes(kSectorBytes, i / 3);
    EXPECT_TRUE(
        std::equal(expected.begin(), expected.end(), read.data().begin(), read.data().end()));
    EXPECT_EQ(driver.Wait(ids[i + 2]).status(), kBlkStatusUnsupported);
  }
}

}  // namespace
}  // namespace vof
