// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/file_handle.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"

namespace vof {
namespace {

absl::Status PathError(int error, const std::string& path, const char* what) {
  return absl::ErrnoToStatus(error, absl::StrCat(path, ": ", what));
}

int OpenFlags(const FileStoreOptions& options) {
  // O_NONBLOCK: a FIFO must not hang the open; it has no meaning for what is served in the end.
  int flags = O_CLOEXEC | O_NONBLOCK | (options.read_only ? O_RDONLY : O_RDWR);
  if (options.direct) flags |= O_DIRECT;
  return flags;
}

// Refuses a device that is mounted or otherwise in use by the kernel.
int ExclusiveFlagFor(const FileStoreOptions& options) {
  struct stat s;
  const bool is_device = stat(options.path.c_str(), &s) == 0 && S_ISBLK(s.st_mode);
  return is_device && !options.read_only ? O_EXCL : 0;
}

// The kernel lets go of the files of a killed process a little after it is gone, when it had an
// io_uring: a target that is started again must not trip over its own past.
template <typename Function>
void RetryWhile(int error, Function&& attempt) {
  constexpr int kAttempts = 100;
  constexpr useconds_t kPauseUs = 10'000;
  for (int i = 0; !attempt() && errno == error && i < kAttempts; ++i) usleep(kPauseUs);
}

absl::StatusOr<int> OpenFile(const FileStoreOptions& options) {
  const int flags = OpenFlags(options) | ExclusiveFlagFor(options);
  int fd = -1;
  RetryWhile(EBUSY, [&] { return (fd = open(options.path.c_str(), flags)) >= 0; });
  if (fd < 0 && errno == ENOENT && options.create_size_bytes != 0 && !options.read_only) {
    fd = open(options.path.c_str(), flags | O_CREAT | O_EXCL, 0600);
    if (fd >= 0 && ftruncate(fd, static_cast<off_t>(options.create_size_bytes)) != 0) {
      const int error = errno;
      close(fd);
      unlink(options.path.c_str());
      return PathError(error, options.path, "cannot give the new file its size");
    }
  }
  if (fd >= 0) return fd;
  if (errno == EINVAL && options.direct) {
    return PathError(errno, options.path,
                     "the file system does not offer direct I/O (O_DIRECT); leave direct I/O off");
  }
  if (errno == EBUSY) {
    return PathError(errno, options.path,
                     "the device is mounted or in use; it can be served read-only");
  }
  return PathError(errno, options.path,
                   options.read_only ? "cannot open" : "cannot open for writing");
}

absl::Status Lock(const FileStoreOptions& options, int fd) {
  bool locked = false;
  RetryWhile(EWOULDBLOCK, [&] {
    locked = flock(fd, (options.read_only ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0;
    return locked;
  });
  if (locked) return absl::OkStatus();
  if (errno != EWOULDBLOCK) return PathError(errno, options.path, "cannot lock");
  return absl::FailedPreconditionError(
      absl::StrCat(options.path, ": already in use by another target or disk (",
                   options.read_only ? "one that writes holds its lock" : "its lock is held",
                   "); stop the other one, or serve it read-only from both"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<FileHandle>> FileHandle::Open(const FileStoreOptions& options) {
  if (options.create_size_bytes > static_cast<uint64_t>(INT64_MAX)) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.path, ": a size of ", options.create_size_bytes, " bytes is too large"));
  }
  absl::StatusOr<int> fd = OpenFile(options);
  if (!fd.ok()) return fd.status();
  std::shared_ptr<FileHandle> handle(new FileHandle(options, *fd));
  if (absl::Status s = handle->Inspect(); !s.ok()) return s;
  if (absl::Status s = Lock(options, *fd); !s.ok()) return s;
  // io_uring fails, instead of waiting, where a descriptor is non-blocking.
  if (fcntl(*fd, F_SETFL, fcntl(*fd, F_GETFL) & ~O_NONBLOCK) != 0) {
    return handle->Error(errno, "cannot make the descriptor blocking");
  }
  return handle;
}

FileHandle::~FileHandle() {
  flock(fd_, LOCK_UN);  // now, whoever else still refers to the open file
  close(fd_);
}

absl::Status FileHandle::Error(int error, const char* what) const {
  return PathError(error, options_.path, what);
}

absl::Status FileHandle::Inspect() {
  struct stat s;
  if (fstat(fd_, &s) != 0) return Error(errno, "cannot stat");
  is_block_device_ = S_ISBLK(s.st_mode);
  if (!is_block_device_ && !S_ISREG(s.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(options_.path, ": neither a regular file nor a block device"));
  }
  absl::StatusOr<uint64_t> size = ActualSize();
  if (!size.ok()) return size.status();
  if (*size == 0) return absl::InvalidArgumentError(absl::StrCat(options_.path, ": is empty"));
  size_bytes_ = *size;
  if (options_.direct) {
    absl::StatusOr<DirectAlignment> alignment = FindDirectAlignment(fd_);
    if (!alignment.ok()) {
      return absl::Status(alignment.status().code(),
                          absl::StrCat(options_.path, ": ", alignment.status().message()));
    }
    alignment_ = *alignment;
  }
  return is_block_device_ ? InspectBlockDevice() : InspectRegularFile();
}

absl::Status FileHandle::InspectBlockDevice() {
  unsigned int physical = 0, optimal = 0;
  if (ioctl(fd_, BLKPBSZGET, &physical) == 0) physical_block_bytes_ = physical;
  if (ioctl(fd_, BLKIOOPT, &optimal) == 0) optimal_io_bytes_ = optimal;
  // Whether the device can is only known when it is asked to; one that cannot ignores discards.
  can_discard_ = true;
  return absl::OkStatus();
}

absl::Status FileHandle::InspectRegularFile() {
  physical_block_bytes_ = 4096;  // what file systems allocate and discard in
  // Punching behind the end changes nothing and shows whether the file system can.
  can_discard_ = !options_.read_only && fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                                  static_cast<off_t>(size_bytes()), 4096) == 0;
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> FileHandle::ActualSize() const {
  if (is_block_device_) {
    uint64_t size = 0;
    if (ioctl(fd_, BLKGETSIZE64, &size) != 0) return Error(errno, "cannot read the device's size");
    return size;
  }
  struct stat s;
  if (fstat(fd_, &s) != 0) return Error(errno, "cannot stat");
  return static_cast<uint64_t>(s.st_size);
}

absl::Status FileHandle::Resize(uint64_t size_bytes) {
  const bool truncate = !is_block_device_ && !options_.read_only && options_.truncate_on_resize;
  if (truncate) {
    const uint64_t old_bytes = this->size_bytes();
    if (size_bytes < old_bytes) size_bytes_.store(size_bytes, std::memory_order_relaxed);
    if (ftruncate(fd_, static_cast<off_t>(size_bytes)) != 0) {
      const int error = errno;
      size_bytes_.store(old_bytes, std::memory_order_relaxed);
      return Error(error, "cannot change the file's size");
    }
  } else {
    absl::StatusOr<uint64_t> actual = ActualSize();
    if (!actual.ok()) return actual.status();
    if (size_bytes > *actual) {
      return absl::OutOfRangeError(absl::StrCat(options_.path, ": has ", *actual,
                                                " bytes, fewer than the ", size_bytes,
                                                " asked for; make it larger first"));
    }
  }
  size_bytes_.store(size_bytes, std::memory_order_relaxed);
  return absl::OkStatus();
}

}  // namespace vof
