// SPDX-License-Identifier: Apache-2.0
//
// Opening files to serve: what is refused and why, locks, what the system may lack.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "core/base/time.h"
#include "devices/blk/testing/driver_double.h"
#include "devices/blk/testing/file_disk.h"
#include "devices/blk/testing/temp_file.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

constexpr uint64_t kDiskBytes = 1u << 20;

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
  error({.path = "/does_not_exist"}, "cannot open for writing");
  error({.path = "/does/not/exist"}, "its folder does not exist");
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

TEST(FileStoreOpenTest, ALockedFileIsRefusedAtOnce) {
  TempFile image;
  const auto writer = MakeFileStore({.path = image.path(), .create_size_bytes = kDiskBytes});
  ASSERT_TRUE(writer.ok()) << writer.status();
  const MonotonicTime start = MonotonicNow();
  for (int i = 0; i < 100; ++i) {
    ASSERT_FALSE(MakeFileStore({.path = image.path(), .read_only = i % 2 == 0}).ok());
  }
  // A second for each, if they were tried again; a slow machine has ten for all.
  EXPECT_LT(MonotonicNow() - start, 10 * kNanosecondsPerSecond);
}

TEST(FileStoreOpenTest, AFileThatCannotGetItsSizeIsExplainedAndRemoved) {
  TempFile image;
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {64 << 10, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto store = MakeFileStore({.path = image.path(), .create_size_bytes = kDiskBytes});
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, old_handler);
  ASSERT_FALSE(store.ok());
  EXPECT_TRUE(Mentions(store.status(), image.path())) << store.status();
  EXPECT_TRUE(Mentions(store.status(), "cannot give the new file its size")) << store.status();
  EXPECT_NE(access(image.path().c_str(), F_OK), 0);
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

// Makes a system call fail like a container's filter does. For good: only in a child process.
bool Forbid(uint32_t system_call, int error) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),  // seccomp_data::nr
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, system_call, 0, 1),
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
    if (!Forbid(SYS_io_uring_setup, error)) _exit(1);
    const auto store = MakeFileStore(
        {.path = image.path(), .io = FileIo::kUring, .create_size_bytes = kDiskBytes});
    fprintf(stderr, "%s\n", store.status().ToString().c_str());
    _exit(store.ok() ? 1 : 0);
  };
  EXPECT_EXIT(attempt(ENOSYS), ::testing::ExitedWithCode(0), "sandbox .seccomp. does not offer it");
  EXPECT_EXIT(attempt(EPERM), ::testing::ExitedWithCode(0), "io_uring_disabled");
}

// As in a container with Docker's usual profile.
TEST(FileStoreDeathTest, WithoutIoUringPlainCallsServeUnlessDirect) {
  TempFile image;
  const auto attempt = [&] {
    if (!Forbid(SYS_io_uring_setup, EPERM)) _exit(1);
    std::string why;
    FileStoreOptions options{.path = image.path(), .create_size_bytes = kDiskBytes};
    options.on_plain_calls = [&why](const absl::Status& status) { why = status.ToString(); };
    Disk disk = MakeDisk(options);
    if (why.find("io_uring_disabled") == std::string::npos) _exit(2);
    BlkDriverDouble driver(disk.queue.get());
    driver.Run(BlkWriteRequest(8, PatternBytes(512, 1)), 1);
    const BlkAnswer answer = driver.Run(BlkReadRequest(8), 513);
    if (answer.status() != kBlkStatusOk) _exit(3);
    const Bytes pattern = PatternBytes(512, 1);
    if (!std::equal(pattern.begin(), pattern.end(), answer.data().begin())) _exit(4);
    disk = {};
    options.direct = true;
    _exit(MakeFileStore(options).ok() ? 5 : 0);
  };
  EXPECT_EXIT(attempt(), ::testing::ExitedWithCode(0), "");
}

TEST(FileStoreOpenTest, PlainCallsCannotBeDirect) {
  TempFile image;
  const auto store = MakeFileStore({.path = image.path(),
                                    .direct = true,
                                    .io = FileIo::kCalls,
                                    .create_size_bytes = kDiskBytes});
  EXPECT_TRUE(Mentions(store.status(), "io_uring")) << store.status();
}

TEST(FileStoreDeathTest, WithoutFallocateThereIsNoDiscardAndZeroesAreWritten) {
  TempFile image;
  const auto attempt = [&](int error) {
    Disk first = MakeDisk({.path = image.path(), .create_size_bytes = kDiskBytes});
    BlkDriverDouble before(first.queue.get());
    before.Run(BlkWriteRequest(0, PatternBytes(8192, 1)), 1);
    first = {};
    if (!Forbid(SYS_fallocate, error)) _exit(1);
    Disk disk = MakeDisk({.path = image.path()});
    if ((disk.device->features() & kBlkFeatureDiscard) != 0) _exit(2);
    BlkDriverDouble driver(disk.queue.get());
    if (driver.Run(BlkSegmentsRequest(kBlkTypeWriteZeroes, {{0, 8, 1}}), 1).status() !=
        kBlkStatusOk) {
      _exit(3);
    }
    const BlkAnswer answer = driver.Run(BlkReadRequest(0), 8193);
    const bool zeroed = std::all_of(answer.data().begin(), answer.data().begin() + 4096,
                                    [](std::byte b) { return b == std::byte{0}; });
    const Bytes pattern = PatternBytes(8192, 1);
    const bool kept =
        std::equal(pattern.begin() + 4096, pattern.end(), answer.data().begin() + 4096);
    _exit(answer.status() == kBlkStatusOk && zeroed && kept ? 0 : 4);
  };
  EXPECT_EXIT(attempt(EOPNOTSUPP), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(attempt(ENOSYS), ::testing::ExitedWithCode(0), "");
}

// With requests that the kernel's worker threads have seen.
void UseRing(const Disk& disk) {
  BlkDriverDouble driver(disk.queue.get());
  EXPECT_EQ(driver.Run(BlkWriteRequest(0, PatternBytes(512, 1)), 1).status(), kBlkStatusOk);
  EXPECT_EQ(driver.Run(BlkReadRequest(0), 513).status(), kBlkStatusOk);
}

TEST(FileStoreOpenTest, AFileCanBeServedAgainAtOnce) {
  TempFile image;
  for (int i = 0; i < 1000; ++i) {
    const Disk disk = MakeDisk({.path = image.path(), .create_size_bytes = kDiskBytes});
    ASSERT_NE(disk.queue, nullptr);
    UseRing(disk);
  }
}

TEST(FileStoreDeathTest, TheFileOfAKilledTargetCanBeServedAtOnce) {
  TempFile image;
  for (int i = 0; i < 100; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const Disk disk = MakeDisk({.path = image.path(), .create_size_bytes = kDiskBytes});
      UseRing(disk);
      BlkDriverDouble driver(disk.queue.get());
      driver.Start(std::vector<std::pair<Bytes, uint32_t>>(
          64, {BlkWriteRequest(0, PatternBytes(4096, 1)), 1}));
      kill(getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    const auto store = MakeFileStore({.path = image.path()});
    ASSERT_TRUE(store.ok()) << "round " << i << ": " << store.status();
  }
}

}  // namespace
}  // namespace vof
