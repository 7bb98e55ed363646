// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/transfer/file_endpoint.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/common/size.h"

namespace vof {
namespace {

struct FileShape {
  uint64_t size_bytes = 0;
  bool is_block_device = false;
};

absl::StatusOr<FileShape> ShapeOf(const UniqueFd& fd, const std::string& path) {
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return FileError("examine", path, errno);
  if (S_ISREG(info.st_mode)) return FileShape{static_cast<uint64_t>(info.st_size), false};
  if (!S_ISBLK(info.st_mode)) {
    return absl::UnknownError(absl::StrCat(path, " is neither a regular file nor a block device"));
  }
  uint64_t size_bytes = 0;
  if (ioctl(fd.get(), BLKGETSIZE64, &size_bytes) != 0) return FileError("size", path, errno);
  return FileShape{size_bytes, true};
}

bool HasBytes(const UniqueFd& fd) {
  std::byte byte;
  return pread(fd.get(), &byte, 1, 0) == 1;
}

absl::Status ErrorAt(std::string_view action, const std::string& path, uint64_t offset_bytes,
                     int error_number) {
  return FileError(action, absl::StrCat(path, " at offset ", offset_bytes), error_number);
}

absl::Status TooSmall(const std::string& path, uint64_t has_bytes, uint64_t needed_bytes) {
  return absl::OutOfRangeError(absl::StrCat(path, " is too small: it holds ", has_bytes, " bytes (",
                                            HumanSize(has_bytes), "), ", needed_bytes, " bytes (",
                                            HumanSize(needed_bytes), ") are to be written"));
}

// The lock that a target takes on what it serves. A file system without locks has none that
// somebody could hold.
absl::Status LockForWriting(const UniqueFd& fd, const std::string& path) {
  if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return absl::OkStatus();
  return absl::UnknownError(absl::StrCat(
      path,
      " is in use by a target or another copy (its lock is held); nothing was written: write "
      "to the device that serves it, or end that program first"));
}

// The lock that a target takes on what it serves read-only.
absl::Status LockForReading(const UniqueFd& fd, const std::string& path) {
  if (flock(fd.get(), LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK) return absl::OkStatus();
  return absl::UnknownError(absl::StrCat(
      path,
      " may change while it is read: a target serves it, or another copy writes it (its lock is "
      "held); nothing was written: read from the device that serves it, or end that program "
      "first"));
}

// Makes it empty and returns 0, or an errno. That `size_bytes` are possible is found out before
// anything is lost.
int Empty(const UniqueFd& fd, uint64_t size_bytes) {
  const auto size = static_cast<off_t>(size_bytes);
  const bool emptied = ftruncate(fd.get(), size) == 0 && ftruncate(fd.get(), 0) == 0;
  return emptied ? 0 : errno;
}

absl::Status SizeError(const std::string& path, uint64_t size_bytes, int error_number) {
  const absl::Status error =
      FileError(absl::StrCat("give ", size_bytes, " bytes (", HumanSize(size_bytes), ") to"), path,
                error_number);
  if (error_number != EFBIG) return error;
  return absl::UnknownError(
      absl::StrCat(error.message(),
                   "; the file system or the limit on file sizes (ulimit -f) does not allow it"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<FileEndpoint>> FileEndpoint::OpenForReading(
    const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.ok()) return FileError("open", path, errno);
  const absl::StatusOr<FileShape> shape = ShapeOf(fd, path);
  if (!shape.ok()) return shape.status();
  if (shape->size_bytes == 0 && HasBytes(fd)) {
    return absl::UnknownError(
        absl::StrCat(path, " does not tell its size, as the files of /proc do not: pipe it, cat ",
                     path, " | vof write URI"));
  }
  return std::unique_ptr<FileEndpoint>(
      new FileEndpoint(path, std::move(fd), shape->size_bytes,
                       shape->is_block_device ? Kind::kBlockDevice : Kind::kOpened));
}

absl::StatusOr<std::unique_ptr<FileEndpoint>> FileEndpoint::OpenUnchanging(
    const std::string& path) {
  auto file = OpenForReading(path);
  if (!file.ok()) return file;
  if (const absl::Status locked = LockForReading((*file)->fd_, path); !locked.ok()) return locked;
  return file;
}

absl::StatusOr<UniqueFd> HoldUnchanging(int fd, const std::string& name) {
  struct stat info;
  if (fstat(fd, &info) != 0 || !(S_ISREG(info.st_mode) || S_ISBLK(info.st_mode))) return UniqueFd();
  // A lock belongs to an opening, and that of `fd` is shared with whoever has opened it.
  UniqueFd own(open(absl::StrCat("/proc/self/fd/", fd).c_str(), O_RDONLY | O_CLOEXEC));
  if (!own.ok()) return UniqueFd();
  if (const absl::Status locked = LockForReading(own, name); !locked.ok()) return locked;
  return own;
}

absl::StatusOr<std::unique_ptr<FileEndpoint>> FileEndpoint::Create(const std::string& path,
                                                                   uint64_t size_bytes) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_CLOEXEC;
  UniqueFd fd(open(path.c_str(), kFlags | O_EXCL, 0666));
  const bool is_new = fd.ok();
  if (!is_new) fd = UniqueFd(open(path.c_str(), kFlags, 0666));
  if (!fd.ok()) return FileError("create", path, errno);
  const absl::StatusOr<FileShape> shape = ShapeOf(fd, path);
  if (!shape.ok()) return shape.status();
  // Before the file is truncated, and held until the endpoint goes.
  if (const absl::Status locked = LockForWriting(fd, path); !locked.ok()) return locked;
  if (shape->is_block_device) {
    if (shape->size_bytes < size_bytes) return TooSmall(path, shape->size_bytes, size_bytes);
  } else if (const int error = Empty(fd, size_bytes); error != 0) {
    if (is_new) unlink(path.c_str());
    return SizeError(path, size_bytes, error);
  }
  return std::unique_ptr<FileEndpoint>(
      new FileEndpoint(path, std::move(fd), size_bytes,
                       shape->is_block_device ? Kind::kBlockDevice : Kind::kCreated));
}

absl::StatusOr<Extent> FileEndpoint::ExtentAt(uint64_t offset_bytes) {
  const auto at = static_cast<off_t>(offset_bytes);
  const off_t data = lseek(fd_.get(), at, SEEK_DATA);
  if (data < 0) {
    if (errno == ENXIO) return Extent{size_bytes_, true};
    // Neither block devices nor every file system know holes.
    return Extent{size_bytes_, false};
  }
  if (data > at) return Extent{std::min(static_cast<uint64_t>(data), size_bytes_), true};
  const off_t hole = lseek(fd_.get(), at, SEEK_HOLE);
  if (hole <= at) return Extent{size_bytes_, false};
  return Extent{std::min(static_cast<uint64_t>(hole), size_bytes_), false};
}

absl::Status FileEndpoint::Read(uint64_t offset_bytes, std::span<std::byte> buffer) {
  while (!buffer.empty()) {
    const ssize_t got =
        pread(fd_.get(), buffer.data(), buffer.size(), static_cast<off_t>(offset_bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrorAt("read", path_, offset_bytes, errno);
    if (got == 0) {
      return absl::UnknownError(
          absl::StrCat(path_, " ended at offset ", offset_bytes, " while it was read"));
    }
    buffer = buffer.subspan(static_cast<size_t>(got));
    offset_bytes += static_cast<uint64_t>(got);
  }
  return absl::OkStatus();
}

absl::Status FileEndpoint::Write(uint64_t offset_bytes, std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t put =
        pwrite(fd_.get(), data.data(), data.size(), static_cast<off_t>(offset_bytes));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return ErrorAt("write", path_, offset_bytes, errno);
    data = data.subspan(static_cast<size_t>(put));
    offset_bytes += static_cast<uint64_t>(put);
  }
  return absl::OkStatus();
}

absl::Status FileEndpoint::Zero(uint64_t offset_bytes, uint64_t size_bytes) {
  if (kind_ != Kind::kBlockDevice) return absl::OkStatus();
  const int result = fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                               static_cast<off_t>(offset_bytes), static_cast<off_t>(size_bytes));
  if (result == 0) return absl::OkStatus();
  // Devices without it, and ranges that are not multiples of their sectors.
  return WriteZeroBytes(offset_bytes, size_bytes);
}

absl::Status FileEndpoint::WriteZeroBytes(uint64_t offset_bytes, uint64_t size_bytes) {
  static constexpr std::array<std::byte, 64 << 10> kZeros{};
  while (size_bytes > 0) {
    const size_t now = std::min<uint64_t>(size_bytes, kZeros.size());
    const absl::Status written = Write(offset_bytes, std::span(kZeros).first(now));
    if (!written.ok()) return written;
    offset_bytes += now;
    size_bytes -= now;
  }
  return absl::OkStatus();
}

absl::Status FileEndpoint::Flush() {
  // Nothing was written behind the last data.
  if (kind_ == Kind::kCreated && ftruncate(fd_.get(), static_cast<off_t>(size_bytes_)) != 0) {
    return SizeError(path_, size_bytes_, errno);
  }
  if (fdatasync(fd_.get()) != 0) return FileError("flush", path_, errno);
  return absl::OkStatus();
}

bool FileEndpoint::CutTo(uint64_t size_bytes) {
  return kind_ == Kind::kCreated && ftruncate(fd_.get(), static_cast<off_t>(size_bytes)) == 0;
}

bool IsSameFile(const std::string& a, const std::string& b) {
  struct stat first, second;
  if (stat(a.c_str(), &first) != 0 || stat(b.c_str(), &second) != 0) return false;
  return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

}  // namespace vof
