// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/store_file.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "devices/blk/blk_device.h"
#include "devices/blk/testing/driver_double.h"
#include "devices/blk/testing/temp_file.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

constexpr uint64_t kDiskBytes = 1u << 20;

struct Disk {
  std::shared_ptr<BlkDevice> device;
  std::unique_ptr<DeviceQueue> queue;
};

Disk MakeDisk(const FileStoreOptions& file, const BlkOptions& options = {}) {
  auto store = MakeFileStore(file);
  EXPECT_TRUE(store.ok()) << store.status();
  Disk disk;
  auto device = MakeBlkDevice(options, *store);
  EXPECT_TRUE(device.ok()) << device.status();
  disk.device = *device;
  disk.queue = *disk.device->OpenQueue(0);
  disk.queue->Activate(disk.device->features());
  return disk;
}

uint64_t FileSize(const std::string& path) {
  struct stat s = {};
  EXPECT_EQ(stat(path.c_str(), &s), 0);
  return static_cast<uint64_t>(s.st_size);
}

bool Mentions(const absl::Status& status, const std::string& text) {
  return status.ToString().find(text) != std::string::npos;
}

TEST(FileStoreOpenTest, ErrorsNameThePathAndTheReason) {
  const auto error = [](const FileStoreOptions& options, const std::string& text) {
    const auto store = MakeFileStore(options);
    ASSERT_FALSE(store.ok()) << options.path;
    EXPECT_TRUE(Mentions(store.status(), options.path)) << store.status();
    EXPECT_TRUE(Mentions(store.status(), text)) << store.status();
  };
  error({.path = "/does/not/exist"}, "cannot open for writing");
  error({.path = "/dev/null"}, "neither a regular file nor a block device");
  error({.path = "/tmp", .read_only = true}, "neither a regular file nor a block device");
  TempFile fifo;
  ASSERT_EQ(mkfifo(fifo.path().c_str(), 0600), 0);
  error({.path = fifo.path(), .read_only = true}, "neither a regular file nor a block device");
  TempFile empty;
  close(open(empty.path().c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  error({.path = empty.path()}, "is empty");
}

TEST(FileStoreOpenTest, OneWriterOrManyReaders) {
  TempFile image;
  {
    const auto writer = MakeFileStore({.path = image.path(), .create_size_bytes = kDiskBytes});
    ASSERT_TRUE(writer.ok()) << writer.status();
    const auto second = MakeFileStore({.path = image.path()});
    EXPECT_TRUE(Mentions(second.status(), "already in use")) << second.status();
    EXPECT_FALSE(MakeFileStore({.path = image.path(), .read_only = true}).ok());
  }
  const auto reader = MakeFileStore({.path = image.path(), .read_only = true});
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE(MakeFileStore({.path = image.path(), .read_only = true}).ok());
  EXPECT_FALSE(MakeFileStore({.path = image.path()}).ok());
  EXPECT_FALSE(MakeBlkDevice({}, *reader).ok());  // must be said to be read-only
  EXPECT_TRUE(MakeBlkDevice({.read_only = true}, *reader).ok());
}

TEST(FileStoreOpenTest, EpochChangesWhenTheFileIsOpenedAgain) {
  TempFile image;
  const FileStoreOptions options = {.path = image.path(), .create_size_bytes = kDiskBytes};
  const uint64_t first = (*MakeFileStore(options))->epoch();
  EXPECT_NE((*MakeFileStore(options))->epoch(), first);
}

TEST(FileStoreOpenTest, ASizeThatIsNotWholeBlocksIsRefused) {
  TempFile image;
  auto store = MakeFileStore({.path = image.path(), .create_size_bytes = kDiskBytes + 100});
  ASSERT_TRUE(store.ok());
  EXPECT_TRUE(Mentions(MakeBlkDevice({}, *store).status(), "not a multiple"));
}

// Makes io_uring_setup fail like a container's filter does. For good: only in a child process.
bool ForbidIoUring(int error) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),  // seccomp_data::nr
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {4, code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(FileStoreDeathTest, WithoutIoUringTheReasonIsSaidAtSetUp) {
  TempFile image;
  const auto attempt = [&](int error) {
    if (!ForbidIoUring(error)) _exit(1);
    const auto store = MakeFileStore({.path = image.path(), .create_size_bytes = kDiskBytes});
    fprintf(stderr, "%s\n", store.status().ToString().c_str());
    _exit(store.ok() ? 1 : 0);
  };
  EXPECT_EXIT(attempt(ENOSYS), ::testing::ExitedWithCode(0), "sandbox .seccomp. does not offer it");
  EXPECT_EXIT(attempt(EPERM), ::testing::ExitedWithCode(0), "io_uring_disabled");
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

TEST(FileStoreTest, AFileCanBeServedAgainAtOnce) {
  TempFile image;
  for (int i = 0; i < 20; ++i) {
    Disk disk = MakeDisk({.path = image.path(), .create_size_bytes = kDiskBytes});
    BlkDriverDouble driver(disk.queue.get());
    EXPECT_EQ(driver.Run(BlkReadRequest(0), 513).status(), kBlkStatusOk);
  }
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
