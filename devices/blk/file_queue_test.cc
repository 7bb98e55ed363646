// SPDX-License-Identifier: Apache-2.0
//
// The block device over a file whose kernel fails, interrupts and moves too little: what is
// answered with OK is true, the rest is an error, and the file never outgrows the disk.
#include "devices/blk/file_queue.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "devices/blk/blk_device.h"
#include "devices/blk/testing/driver_double.h"
#include "devices/blk/testing/faulty_ring.h"
#include "devices/blk/testing/temp_file.h"

namespace vof {
namespace {

constexpr uint64_t kSectors = 512;
constexpr uint64_t kDiskBytes = kSectors * kSectorBytes;

using FaultyQueue = BasicFileQueue<FaultyRing>;

class FaultyFileStore final : public BlockStore {
 public:
  FaultyFileStore(std::shared_ptr<FileHandle> file, std::shared_ptr<const ZeroArea> zeros)
      : file_(std::move(file)), zeros_(std::move(zeros)) {}
  FaultyRing* last_ring() const { return last_ring_; }
  void FailOpens(absl::Status error) { open_error_ = std::move(error); }

  StoreTraits traits() const override { return {.can_discard = file_->can_discard()}; }
  uint64_t size_bytes() const override { return file_->size_bytes(); }
  uint64_t epoch() const override { return 1; }
  absl::Status Resize(uint64_t size_bytes) override { return file_->Resize(size_bytes); }
  absl::StatusOr<std::unique_ptr<StoreQueue>> OpenQueue() override {
    auto queue = std::make_unique<FaultyQueue>(file_, zeros_);
    queue->ring()->FailOpen(open_error_);
    if (absl::Status s = queue->Open(); !s.ok()) return s;
    last_ring_ = queue->ring();
    return queue;
  }

 private:
  const std::shared_ptr<FileHandle> file_;
  const std::shared_ptr<const ZeroArea> zeros_;
  FaultyRing* last_ring_ = nullptr;
  absl::Status open_error_;
};

class FileQueueTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto file = FileHandle::Open({.path = image_.path(), .create_size_bytes = kDiskBytes});
    ASSERT_TRUE(file.ok()) << file.status();
    store_ = std::make_shared<FaultyFileStore>(*file, *ZeroArea::Create());
    device_ = *MakeBlkDevice({}, store_);
    OpenQueue();
  }
  void OpenQueue() {
    queue_ = *device_->OpenQueue(0);
    queue_->Activate(device_->features());
    ring_ = store_->last_ring();
  }
  uint64_t FileBytes() const {
    struct stat s = {};
    EXPECT_EQ(stat(image_.path().c_str(), &s), 0);
    return static_cast<uint64_t>(s.st_size);
  }

  TempFile image_;
  std::shared_ptr<FaultyFileStore> store_;
  std::shared_ptr<BlkDevice> device_;
  std::unique_ptr<DeviceQueue> queue_;
  FaultyRing* ring_ = nullptr;
};

bool IsAll(std::span<const std::byte> bytes, std::byte value) {
  return std::all_of(bytes.begin(), bytes.end(), [=](std::byte b) { return b == value; });
}

// What each sector holds; a change that failed may have happened in part.
class Model {
 public:
  Model() : bytes_(kDiskBytes), is_known_(kSectors, true) {}

  void Change(uint64_t sector, std::span<const std::byte> data, bool ok) {
    std::copy(data.begin(), data.end(), bytes_.begin() + Offset(sector));
    std::fill_n(is_known_.begin() + static_cast<ptrdiff_t>(sector), data.size() / kSectorBytes, ok);
  }
  void ExpectRead(uint64_t sector, const BlkAnswer& answer) const {
    if (answer.status() != kBlkStatusOk) {
      EXPECT_EQ(answer.status(), kBlkStatusIoError);
      EXPECT_TRUE(IsAll(answer.data(), std::byte{0})) << "half a transfer must not show";
      return;
    }
    for (uint64_t i = 0; i < answer.data().size() / kSectorBytes; ++i) {
      if (!is_known_[sector + i]) continue;
      const auto got = answer.data().subspan(i * kSectorBytes, kSectorBytes);
      EXPECT_TRUE(std::equal(got.begin(), got.end(), bytes_.begin() + Offset(sector + i)))
          << "sector " << sector + i;
    }
  }

 private:
  static ptrdiff_t Offset(uint64_t sector) { return static_cast<ptrdiff_t>(sector * kSectorBytes); }
  Bytes bytes_;
  std::vector<bool> is_known_;
};

int RunRandomRequests(BlkDriverDouble* driver, int count, bool may_fail) {
  Model model;
  std::mt19937_64 random(11);
  int failed = 0;
  for (int i = 0; i < count; ++i) {
    const uint64_t sector = random() % (kSectors - 64);
    const uint64_t length = 1 + random() % 64;
    const auto bytes = static_cast<uint32_t>(length * kSectorBytes);
    const TestSegment segment = {sector, static_cast<uint32_t>(length)};
    uint8_t status = kBlkStatusOk;
    Bytes data(bytes);
    switch (random() % 5) {
      case 0:
        status = driver->Run(BlkSegmentsRequest(kBlkTypeWriteZeroes, {segment}), 1).status();
        model.Change(sector, data, status == kBlkStatusOk);
        break;
      case 1:
      case 2:
        data = PatternBytes(bytes, random());
        status = driver->Run(BlkWriteRequest(sector, data), 1).status();
        model.Change(sector, data, status == kBlkStatusOk);
        break;
      default: {
        const BlkAnswer answer = driver->Run(BlkReadRequest(sector), bytes + 1);
        status = answer.status();
        model.ExpectRead(sector, answer);
      }
    }
    failed += status == kBlkStatusOk ? 0 : 1;
    EXPECT_TRUE(may_fail || status == kBlkStatusOk) << i;
    if (testing::Test::HasFailure()) break;
  }
  return failed;
}

TEST_F(FileQueueTest, InterruptedAndShortTransfersAreFinished) {
  for (const BlkCuts cuts : {BlkCuts::kAligned, BlkCuts::kRandom}) {
    OpenQueue();
    ring_->SetFaults({.shorts_per_mille = 500, .errors_per_mille = 200, .errors = {EINTR, EAGAIN}});
    BlkDriverDouble driver(queue_.get(), cuts);
    driver.Run(BlkSegmentsRequest(kBlkTypeWriteZeroes, {{0, kSectors}}), 1);
    EXPECT_EQ(RunRandomRequests(&driver, 500, /*may_fail=*/false), 0);
    EXPECT_GT(ring_->num_shorts(), 100u);
    EXPECT_GT(ring_->num_errors(), 100u);
    EXPECT_EQ(FileBytes(), kDiskBytes);
  }
}

TEST_F(FileQueueTest, FailuresAreErrorsAndNeverStaleData) {
  for (const BlkCuts cuts : {BlkCuts::kAligned, BlkCuts::kRandom}) {
    OpenQueue();
    BlkDriverDouble driver(queue_.get(), cuts);
    ASSERT_EQ(driver.Run(BlkSegmentsRequest(kBlkTypeWriteZeroes, {{0, kSectors}}), 1).status(),
              kBlkStatusOk);
    ring_->SetFaults({.shorts_per_mille = 500,
                      .errors_per_mille = 200,
                      .errors = {EIO, ENOSPC, EDQUOT, EINTR, EBADF, ENOMEM}});
    EXPECT_GT(RunRandomRequests(&driver, 500, /*may_fail=*/true), 50);
    EXPECT_EQ(FileBytes(), kDiskBytes);
  }
}

TEST_F(FileQueueTest, AFlushAfterALostWriteNeverSaysThatAllIsWell) {
  BlkDriverDouble driver(queue_.get());
  const auto flush = [&] { return driver.Run(BlkRequestBytes(kBlkTypeFlush, 0), 1).status(); };
  EXPECT_EQ(flush(), kBlkStatusOk);
  ring_->SetFaults({.errors_per_mille = 1000, .errors = {EIO}});
  EXPECT_EQ(flush(), kBlkStatusIoError);
  ring_->SetFaults({});
  EXPECT_EQ(flush(), kBlkStatusIoError) << "the kernel has forgotten, we must not";
  OpenQueue();
  BlkDriverDouble other(queue_.get());
  EXPECT_EQ(other.Run(BlkRequestBytes(kBlkTypeFlush, 0), 1).status(), kBlkStatusIoError);
}

TEST_F(FileQueueTest, AQueueWithoutARingIsNotOpened) {
  store_->FailOpens(absl::ResourceExhaustedError("RLIMIT_MEMLOCK is 8 KiB"));
  const auto queue = device_->OpenQueue(0);
  EXPECT_EQ(queue.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(queue.status().message(), "RLIMIT_MEMLOCK is 8 KiB");
  store_->FailOpens(absl::OkStatus());
  OpenQueue();
  BlkDriverDouble driver(queue_.get());
  EXPECT_EQ(driver.Run(BlkReadRequest(0), 513).status(), kBlkStatusOk);
}

TEST_F(FileQueueTest, AShrinkOfTheOwnThreadDoesNotOvertakeItsWrites) {
  BlkDriverDouble driver(queue_.get());
  ring_->Hold(true);
  const std::vector<std::pair<Bytes, uint32_t>> batch = {
      {BlkWriteRequest(kSectors - 1, PatternBytes(512, 1)), 1},
      {BlkWriteRequest(0, PatternBytes(512, 2)), 1}};
  const std::vector<int> ids = driver.Start(batch);
  EXPECT_EQ(device_->Resize(kDiskBytes / 2).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(device_->capacity_bytes(), kDiskBytes);
  EXPECT_EQ(store_->size_bytes(), kDiskBytes);
  EXPECT_TRUE(device_->Resize(kDiskBytes * 2).ok());  // waits for nobody
  EXPECT_TRUE(device_->Resize(kDiskBytes).ok());
  ring_->Hold(false);
  for (const int id : ids) EXPECT_EQ(driver.Wait(id).status(), kBlkStatusOk);
  EXPECT_TRUE(device_->Resize(kDiskBytes / 2).ok());
  EXPECT_EQ(FileBytes(), kDiskBytes / 2);
}

// A write in flight while the disk shrinks: the shrink is over after it, whatever else goes on.
TEST_F(FileQueueTest, AShrinkWaitsForWritesInFlightBehindTheEnd) {
  std::atomic<bool> is_under_way = false, shrinks = false, stop = false;
  std::thread reactor([&] {
    OpenQueue();
    BlkDriverDouble driver(queue_.get());
    ring_->Hold(true);
    const std::vector<std::pair<Bytes, uint32_t>> batch = {
        {BlkWriteRequest(kSectors - 1, PatternBytes(512, 1)), 1}};
    const int id = driver.Start(batch).front();
    is_under_way = true;
    while (!shrinks) std::this_thread::yield();
    // Held for a while, the device being used below the new end meanwhile.
    const int below = driver
                          .Start(std::vector<std::pair<Bytes, uint32_t>>{
                              {BlkWriteRequest(0, PatternBytes(512, 2)), 1}})
                          .front();
    for (int i = 0; i < 1000; ++i) queue_->Poll();
    EXPECT_EQ(FileBytes(), kDiskBytes) << "cut below a write in flight";
    ring_->Hold(false);
    EXPECT_EQ(driver.Wait(id).status(), kBlkStatusOk);
    EXPECT_EQ(driver.Wait(below).status(), kBlkStatusOk);
    while (!stop) EXPECT_EQ(driver.Run(BlkReadRequest(0), 513).status(), kBlkStatusOk);
    queue_.reset();
  });
  while (!is_under_way) std::this_thread::yield();
  shrinks = true;
  EXPECT_TRUE(device_->Resize(kDiskBytes / 2).ok());
  EXPECT_EQ(FileBytes(), kDiskBytes / 2);
  EXPECT_TRUE(device_->Resize(kDiskBytes).ok());
  EXPECT_EQ(FileBytes(), kDiskBytes);
  stop = true;
  reactor.join();
  OpenQueue();
  BlkDriverDouble driver(queue_.get());
  const BlkAnswer answer = driver.Run(BlkReadRequest(kSectors - 1), 513);
  EXPECT_EQ(answer.status(), kBlkStatusOk);
  EXPECT_TRUE(IsAll(answer.data(), std::byte{0}));
}

}  // namespace
}  // namespace vof
