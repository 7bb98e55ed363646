// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/file_handle.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
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

// Closed unless it is released.
class OwnedFd {
 public:
  explicit OwnedFd(int fd) : fd_(fd) {}
  ~OwnedFd() {
    if (fd_ >= 0) close(fd_);
  }
  OwnedFd(const OwnedFd&) = delete;
  OwnedFd& operator=(const OwnedFd&) = delete;

  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// Refuses a device that is mounted or otherwise in use by the kernel.
int ExclusiveFlagFor(const FileStoreOptions& options) {
  struct stat s;
  const bool is_device = stat(options.path.c_str(), &s) == 0 && S_ISBLK(s.st_mode);
  return is_device && !options.read_only ? O_EXCL : 0;
}

// Of a file that was to be created: its folder is what is not there.
bool LacksFolder(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return false;
  struct stat s;
  return stat(path.substr(0, slash).c_str(), &s) != 0 && errno == ENOENT;
}

absl::Status OpenError(const FileStoreOptions& options, int error) {
  if (error == ENOENT && LacksFolder(options.path)) {
    return PathError(error, options.path, "its folder does not exist; create that first");
  }
  if (error == EINVAL && options.direct) {
    return PathError(error, options.path,
                     "the file system does not offer direct I/O (O_DIRECT); leave direct I/O off");
  }
  if (error == EBUSY) {
    return PathError(error, options.path,
                     "the device is mounted or in use; it can be served read-only");
  }
  return PathError(error, options.path,
                   options.read_only ? "cannot open" : "cannot open for writing");
}

absl::StatusOr<int> CreateFile(const FileStoreOptions& options, int flags) {
  const int fd = open(options.path.c_str(), flags | O_CREAT | O_EXCL, 0600);
  if (fd < 0) return OpenError(options, errno);
  if (ftruncate(fd, static_cast<off_t>(options.create_size_bytes)) == 0) {
    if (options.on_created) options.on_created(options.path);
    return fd;
  }
  const int error = errno;
  close(fd);
  unlink(options.path.c_str());
  return PathError(error, options.path, "cannot give the new file its size");
}

// The descriptor that the lock is on.
absl::StatusOr<int> OpenForLock(const FileStoreOptions& options) {
  const int flags = OpenFlags(options) & ~O_DIRECT;
  const int fd = open(options.path.c_str(), flags | ExclusiveFlagFor(options));
  if (fd >= 0) return fd;
  const bool create = errno == ENOENT && options.create_size_bytes != 0 && !options.read_only;
  return create ? CreateFile(options, flags) : OpenError(options, errno);
}

// The descriptor that the data goes through: of the very file that is locked.
absl::StatusOr<int> OpenForData(const FileStoreOptions& options, int lock_fd) {
  OwnedFd fd(open(options.path.c_str(), OpenFlags(options)));
  if (fd.get() < 0) return OpenError(options, errno);
  struct stat locked, opened;
  if (fstat(lock_fd, &locked) != 0 || fstat(fd.get(), &opened) != 0) {
    return PathError(errno, options.path, "cannot stat");
  }
  if (locked.st_dev != opened.st_dev || locked.st_ino != opened.st_ino) {
    return absl::AbortedError(
        absl::StrCat(options.path, ": was replaced while it was being opened; try again"));
  }
  return fd.Release();
}

absl::Status CheckKind(const FileStoreOptions& options, int fd) {
  struct stat s;
  if (fstat(fd, &s) != 0) return PathError(errno, options.path, "cannot stat");
  if (S_ISBLK(s.st_mode) || S_ISREG(s.st_mode)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(options.path, ": neither a regular file nor a block device"));
}

absl::Status Lock(const FileStoreOptions& options, int fd) {
  if (flock(fd, (options.read_only ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0) return absl::OkStatus();
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
  absl::StatusOr<int> opened = OpenForLock(options);
  if (!opened.ok()) return opened.status();
  OwnedFd lock_fd(*opened);
  if (absl::Status s = CheckKind(options, lock_fd.get()); !s.ok()) return s;
  if (absl::Status s = Lock(options, lock_fd.get()); !s.ok()) return s;
  absl::StatusOr<int> fd = OpenForData(options, lock_fd.get());
  if (!fd.ok()) return fd.status();
  std::shared_ptr<FileHandle> handle(new FileHandle(options, lock_fd.Release(), *fd));
  if (absl::Status s = handle->Inspect(); !s.ok()) return s;
  // io_uring fails, instead of waiting, where a descriptor is non-blocking.
  if (fcntl(*fd, F_SETFL, fcntl(*fd, F_GETFL) & ~O_NONBLOCK) != 0) {
    return handle->Error(errno, "cannot make the descriptor blocking");
  }
  return handle;
}

FileHandle::~FileHandle() {
  close(fd_);
  flock(lock_fd_, LOCK_UN);  // now, should a child process have a copy
  close(lock_fd_);
}

absl::Status FileHandle::Error(int error, const char* what) const {
  return PathError(error, options_.path, what);
}

absl::Status FileHandle::Inspect() {
  struct stat s;
  if (fstat(fd_, &s) != 0) return Error(errno, "cannot stat");
  is_block_device_ = S_ISBLK(s.st_mode);
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
  const uint64_t old_bytes = this->size_bytes();
  absl::Status status;
  if (size_bytes < old_bytes) {
    size_bytes_.store(size_bytes);  // refuses what comes now, before what came earlier is awaited
    status = reach_.WaitWithin(size_bytes);
    if (!status.ok()) {
      status = absl::Status(status.code(), absl::StrCat(options_.path, ": cannot shrink to ",
                                                        size_bytes, " bytes: ", status.message()));
    }
  }
  if (status.ok()) status = ChangeSize(size_bytes);
  if (status.ok() && size_bytes <= cut_at_bytes_.load()) cut_at_bytes_.store(kNotCut);
  size_bytes_.store(status.ok() ? size_bytes : old_bytes);
  return status;
}

void FileHandle::NoteEnd(uint64_t end_bytes) {
  if (end_bytes >= size_bytes()) return;  // Resize has cut it
  // The read may have begun behind the end. (By now the file may be longer again.)
  const absl::StatusOr<uint64_t> actual = ActualSize();
  if (actual.ok()) end_bytes = std::min(end_bytes, *actual);
  uint64_t before = cut_at_bytes_.load();
  while (end_bytes < before && !cut_at_bytes_.compare_exchange_weak(before, end_bytes)) continue;
}

absl::Status FileHandle::ChangeSize(uint64_t size_bytes) {
  if (!is_block_device_ && !options_.read_only && options_.truncate_on_resize) {
    if (ftruncate(fd_, static_cast<off_t>(size_bytes)) == 0) return absl::OkStatus();
    return Error(errno, "cannot change the file's size");
  }
  absl::StatusOr<uint64_t> actual = ActualSize();
  if (!actual.ok()) return actual.status();
  if (size_bytes <= *actual) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat(options_.path, ": has ", *actual,
                                            " bytes, fewer than the ", size_bytes,
                                            " asked for; make it larger first"));
}

}  // namespace vof
