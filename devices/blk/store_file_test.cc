// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/store_file.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "devices/blk/testing/driver_double.h"
#include "devices/blk/testing/file_disk.h"
#include "devices/blk/testing/temp_file.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

constexpr uint64_t kDiskBytes = 1u << 20;

// In a child process with a file system of its own, which is smaller than the disk.
constexpr int kMayNotMount = 77;

int FillTheFileSystem(bool direct) {
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return kMayNotMount;
  TempFile place;
  if (mkdir(place.path().c_str(), 0700) != 0) return 1;
  mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  if (mount("vof", place.path().c_str(), "tmpfs", 0, "size=256k") != 0) {
    rmdir(place.path().c_str());
    return kMayNotMount;
  }
  const std::string path = place.path() + "/image";
  int result = 0;
  if (direct && !MakeFileStore({.path = path, .direct = true, .create_size_bytes = 1}).ok()) {
    result = kMayNotMount;  // a tmpfs without O_DIRECT
  } else {
    unlink(path.c_str());
    Disk disk = MakeDisk({.path = path, .direct = direct, .create_size_bytes = kDiskBytes},
                         {.block_size_bytes = 4096});
    BlkDriverDouble driver(disk.queue.get());
    const auto write = [&](uint64_t block, uint64_t blocks) {
      return driver.Run(BlkWriteRequest(block * 8, PatternBytes(blocks * 4096, block)), 1).status();
    };
    const auto is_good = [&](uint64_t block) {
      const BlkAnswer answer = driver.Run(BlkReadRequest(block * 8), 4097);
      const Bytes pattern = PatternBytes(4096, block);
      return answer.status() == kBlkStatusOk &&
             std::equal(pattern.begin(), pattern.end(), answer.data().begin());
    };
    uint64_t written = 0;
    while (written < 256 && write(written, 1) == kBlkStatusOk) ++written;
    if (written < 16 || written == 256) result = 2;
    if (write(128, 16) != kBlkStatusIoError) result = 3;
    for (uint64_t block = 0; block < written; ++block) result = is_good(block) ? result : 4;
    // A discard makes room again.
    if (driver.Run(BlkSegmentsRequest(kBlkTypeDiscard, {{0, 64}}), 1).status() != kBlkStatusOk) {
      result = 5;
    }
    if (write(200, 1) != kBlkStatusOk || !is_good(200)) result = 6;
    if (FileSize(path) != kDiskBytes) result = 7;
  }
  umount2(place.path().c_str(), MNT_DETACH);
  rmdir(place.path().c_str());
  return result;
}

TEST(FileStoreDeathTest, AFullFileSystemIsAnErrorUntilThereIsRoom) {
  for (const bool direct : {false, true}) {
    EXPECT_EXIT(
        {
          const int result = FillTheFileSystem(direct);
          if (result == kMayNotMount) fprintf(stderr, "SKIPPED: may not mount a tmpfs here\n");
          _exit(result == kMayNotMount ? 0 : result);
        },
        ::testing::ExitedWithCode(0), "")
        << (direct ? "direct" : "buffered");
  }
}

TEST(FileStoreTest, RefusedRequestsLeaveTheFileAlone) {
  TempFile image;
  Disk disk = MakeDisk({.path = image.path(), .create_size_bytes = kDiskBytes});
  BlkDriverDouble driver(disk.queue.get());
  const uint64_t sectors = kDiskBytes / kSectorBytes;
  for (const uint64_t sector :
       {sectors - 1, sectors, sectors + 1, uint64_t{1} << 55, ~uint64_t{0}}) {
    EXPECT_EQ(driver.Run(BlkWriteRequest(sector, PatternBytes(1024, 1)), 1).status(),
              kBlkStatusIoError);
  }
  EXPECT_EQ(FileSize(image.path()), kDiskBytes);
}

TEST(FileStoreTest, ResizeTruncatesAndGrownSpaceIsZero) {
  TempFile image;
  Disk disk = MakeDisk({.path = image.path(), .create_size_bytes = kDiskBytes});
  BlkDriverDouble driver(disk.queue.get());
  const uint64_t last = kDiskBytes / kSectorBytes - 1;
  ASSERT_EQ(driver.Run(BlkWriteRequest(last, PatternBytes(512, 1)), 1).status(), kBlkStatusOk);
  ASSERT_TRUE(disk.device->Resize(kDiskBytes / 2).ok());
  EXPECT_EQ(FileSize(image.path()), kDiskBytes / 2);
  EXPECT_EQ(driver.Run(BlkReadRequest(last), 513).status(), kBlkStatusIoError);
  ASSERT_TRUE(disk.device->Resize(kDiskBytes * 2).ok());
  EXPECT_EQ(FileSize(image.path()), kDiskBytes * 2);
  const BlkAnswer answer = driver.Run(BlkReadRequest(last), 513);
  EXPECT_EQ(answer.status(), kBlkStatusOk);
  EXPECT_TRUE(std::all_of(answer.data().begin(), answer.data().end(),
                          [](std::byte b) { return b == std::byte{0}; }));
}

TEST(FileStoreTest, ResizeWithoutTruncationFollowsTheFile) {
  TempFile image;
  Disk disk = MakeDisk(
      {.path = image.path(), .create_size_bytes = kDiskBytes, .truncate_on_resize = false});
  EXPECT_FALSE(disk.device->Resize(kDiskBytes * 2).ok());
  EXPECT_EQ(disk.device->capacity_bytes(), kDiskBytes);
  ASSERT_EQ(truncate(image.path().c_str(), kDiskBytes * 2), 0);
  EXPECT_TRUE(disk.device->Resize(kDiskBytes * 2).ok());
}

TEST(FileStoreTest, AFileThatWasCutUnderneathNeverReadsAsGood) {
  TempFile image;
  Disk disk = MakeDisk({.path = image.path(), .create_size_bytes = kDiskBytes});
  ASSERT_EQ(truncate(image.path().c_str(), 4096 + 100), 0);
  BlkDriverDouble driver(disk.queue.get());
  EXPECT_EQ(driver.Run(BlkReadRequest(0), 4096 + 1).status(), kBlkStatusOk);
  const BlkAnswer answer = driver.Run(BlkReadRequest(0), 8192 + 1);
  EXPECT_EQ(answer.status(), kBlkStatusIoError);
  EXPECT_EQ(answer.bytes.size(), 8193u);
  EXPECT_TRUE(std::all_of(answer.data().begin(), answer.data().end(),
                          [](std::byte b) { return b == std::byte{0}; }));
}

// A write makes a file that was cut as long as before, with zeros where data was.
TEST(FileStoreTest, WhatACutTookAwayStaysUnreadableAfterWrites) {
  for (const FileIo io : {FileIo::kCalls, FileIo::kUring}) {
    TempFile image;
    Disk disk = MakeDisk({.path = image.path(), .io = io, .create_size_bytes = kDiskBytes});
    BlkDriverDouble driver(disk.queue.get());
    const uint64_t last = kDiskBytes / 512 - 1;
    ASSERT_EQ(driver.Run(BlkWriteRequest(16, PatternBytes(512, 1)), 1).status(), kBlkStatusOk);
    ASSERT_EQ(truncate(image.path().c_str(), 4096), 0);
    EXPECT_EQ(driver.Run(BlkReadRequest(16), 513).status(), kBlkStatusIoError);
    EXPECT_EQ(driver.Run(BlkWriteRequest(last, PatternBytes(512, 1)), 1).status(), kBlkStatusOk);
    EXPECT_EQ(driver.Run(BlkReadRequest(16), 513).status(), kBlkStatusIoError);
    EXPECT_EQ(driver.Run(BlkReadRequest(7), 1025).status(), kBlkStatusIoError) << "across";
    EXPECT_EQ(driver.Run(BlkReadRequest(0), 4097).status(), kBlkStatusOk) << "below the cut";
    // The disk without the lost range, and with a new one: its zeros are nobody's data.
    ASSERT_TRUE(disk.device->Resize(4096).ok());
    ASSERT_TRUE(disk.device->Resize(kDiskBytes).ok());
    EXPECT_EQ(driver.Run(BlkReadRequest(16), 513).status(), kBlkStatusOk);
  }
}

TEST(FileStoreTest, AFileThatMayNotGrowAnswersWithAnError) {
  TempFile image;
  Disk disk = MakeDisk({.path = image.path(), .create_size_bytes = kDiskBytes});
  BlkDriverDouble driver(disk.queue.get());
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {64 << 10, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const uint8_t below = driver.Run(BlkWriteRequest(0, PatternBytes(512, 1)), 1).status();
  const uint8_t above = driver.Run(BlkWriteRequest(1024, PatternBytes(512, 1)), 1).status();
  // Half of this one fits.
  const uint8_t across = driver.Run(BlkWriteRequest(127, PatternBytes(1024, 1)), 1).status();
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, old_handler);
  EXPECT_EQ(below, kBlkStatusOk);
  EXPECT_EQ(above, kBlkStatusIoError);
  EXPECT_EQ(across, kBlkStatusIoError);
}

TEST(FileStoreTest, ManyRequestsAreInFlightAndTheDescriptorWakes) {
  for (const bool direct : {false, true}) {
    TempFile image;
    FileStoreOptions options = {
        .path = image.path(), .direct = direct, .create_size_bytes = kDiskBytes * 4};
    if (!MakeFileStore(options).ok()) GTEST_SKIP() << MakeFileStore(options).status();
    Disk disk = MakeDisk(options, {.block_size_bytes = 4096});
    // Cut memory: with direct I/O more requests need bounce memory than there is.
    BlkDriverDouble driver(disk.queue.get(), BlkCuts::kRandom);
    std::vector<std::pair<Bytes, uint32_t>> batch;
    for (uint64_t i = 0; i < 1500; ++i) {
      if (i % 2 == 0) {
        batch.emplace_back(BlkWriteRequest(i % 1000 * 8, PatternBytes(4096, i % 1000)), 1);
      } else {
        batch.emplace_back(BlkReadRequest(i % 1000 * 8), 4097);
      }
    }
    const std::vector<int> ids = driver.Start(batch);
    while (driver.outstanding() > 0) {
      const int fd = disk.queue->wait_fd();
      pollfd waiting = {.fd = fd, .events = POLLIN, .revents = 0};
      ASSERT_TRUE(fd < 0 || poll(&waiting, 1, 30'000) == 1) << driver.outstanding();
      disk.queue->Poll();
    }
    for (const int id : ids) EXPECT_EQ(driver.Wait(id).status(), kBlkStatusOk);
  }
}

TEST(FileStoreTest, CancelledRequestsStillComplete) {
  TempFile image;
  Disk disk = MakeDisk({.path = image.path(), .create_size_bytes = kDiskBytes});
  BlkDriverDouble driver(disk.queue.get());
  std::vector<std::pair<Bytes, uint32_t>> batch;
  for (uint64_t i = 0; i < 1000; ++i) batch.emplace_back(BlkReadRequest(i), 513);
  const std::vector<int> ids = driver.Start(batch);
  disk.queue->CancelAll();
  for (const int id : ids) EXPECT_TRUE(driver.Wait(id).completed);
  EXPECT_EQ(driver.Run(BlkReadRequest(0), 513).status(), kBlkStatusOk);
}

TEST(FileStoreTest, DestructionWithRequestsInFlightWaitsForThem) {
  TempFile image;
  Disk disk = MakeDisk({.path = image.path(), .create_size_bytes = kDiskBytes});
  BlkDriverDouble driver(disk.queue.get());
  std::vector<std::pair<Bytes, uint32_t>> batch(100, {BlkReadRequest(0), 4097});
  driver.Start(batch);
  disk.queue.reset();
}

TEST(FileStoreTest, DiscardGivesSpaceBack) {
  TempFile image;
  Disk disk = MakeDisk({.path = image.path(), .create_size_bytes = kDiskBytes});
  if ((disk.device->features() & kBlkFeatureDiscard) == 0) GTEST_SKIP() << "no punch hole here";
  BlkDriverDouble driver(disk.queue.get());
  ASSERT_EQ(driver.Run(BlkWriteRequest(0, PatternBytes(kDiskBytes, 1)), 1).status(), kBlkStatusOk);
  ASSERT_EQ(driver.Run(BlkRequestBytes(kBlkTypeFlush, 0), 1).status(), kBlkStatusOk);
  struct stat before = {}, after = {};
  stat(image.path().c_str(), &before);
  ASSERT_EQ(driver.Run(BlkSegmentsRequest(kBlkTypeDiscard, {{0, kDiskBytes / 512}}), 1).status(),
            kBlkStatusOk);
  stat(image.path().c_str(), &after);
  EXPECT_LT(after.st_blocks, before.st_blocks);
  EXPECT_EQ(FileSize(image.path()), kDiskBytes);
}

}  // namespace
}  // namespace vof
