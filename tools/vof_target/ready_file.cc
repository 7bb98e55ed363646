// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/ready_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/base/random.h"

namespace vof {
namespace {

constexpr size_t kMostBytes = 1 << 20;
// Others that start or end with the same name at the same time; each time one of them was faster.
constexpr int kAttempts = 8;
constexpr useconds_t kRemovalMicroseconds = 5000;

bool IsSame(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

absl::Status Refused(const std::string& path, std::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, " is there and is no ready file of a target: ", std::string(why),
                   "; remove it, or choose another name"));
}

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<size_t>(slash, 1));
}

absl::Status CannotLookAt(const std::string& path) {
  return absl::InvalidArgumentError(
      absl::StrCat("cannot look at ", path, ": ", std::strerror(errno)));
}

// At most one byte more than a ready file may have.
bool ReadContent(int fd, std::string* content) {
  content->resize(kMostBytes + 1);
  size_t length = 0;
  while (length < content->size()) {
    const ssize_t count = read(fd, content->data() + length, content->size() - length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    if (count == 0) break;
    length += static_cast<size_t>(count);
  }
  content->resize(length);
  return true;
}

// A ready file that is there, opened; nothing is touched.
class ExistingFile {
 public:
  ExistingFile() = default;
  ExistingFile(const ExistingFile&) = delete;
  ExistingFile& operator=(const ExistingFile&) = delete;
  ~ExistingFile() {
    if (fd_ >= 0) close(fd_);
  }

  // An error unless it is a ready file, or nothing is there.
  absl::Status Open(const std::string& path) {
    struct stat there = {};
    if (lstat(path.c_str(), &there) != 0) return Missing(path);
    // Before it is opened, which does something to some devices.
    if (S_ISLNK(there.st_mode)) return Refused(path, "it is a symbolic link");
    if (S_ISDIR(there.st_mode)) return Refused(path, std::strerror(EISDIR));
    if (!S_ISREG(there.st_mode)) return Refused(path, "it is not a regular file");
    // Something else may have taken its place just now: no link is followed, no FIFO waited for.
    fd_ = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd_ < 0) return Missing(path);
    if (fstat(fd_, &stat_) != 0) return CannotLookAt(path);
    if (!S_ISREG(stat_.st_mode)) return Refused(path, "it is not a regular file");
    std::string content;
    if (!ReadContent(fd_, &content)) return CannotLookAt(path);
    if (content.size() > kMostBytes) return Refused(path, "it is larger than 1 MiB");
    if (LooksLikeReadyFile(content)) return absl::OkStatus();
    return Refused(path, "it has lines that are no URIs");
  }

  bool is_there() const { return fd_ >= 0; }
  // False while the target that wrote it runs, or another one is about to remove it. Whoever has
  // the lock may remove the file: nobody else puts a new one in its place. On a file system without
  // locks nobody is known to run.
  bool Lock() { return flock(fd_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; }
  bool IsStillAt(const std::string& path) const {
    struct stat now = {};
    return lstat(path.c_str(), &now) == 0 && IsSame(now, stat_);
  }

 private:
  static absl::Status Missing(const std::string& path) {
    // Names that cannot be are left to those who create the file.
    return errno == ENOENT || errno == ENOTDIR ? absl::OkStatus() : CannotLookAt(path);
  }

  int fd_ = -1;
  struct stat stat_ = {};
};

bool WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// Unlike close(), it can be done to a descriptor that is kept: file systems of networks tell only
// then that there was no room.
bool Flush(int fd) {
  const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  return copy >= 0 && close(copy) == 0;
}

// Creates a file beside `path`, of a name that nobody had, with the permissions that the umask
// leaves (which mkstemp would not give). It is short: `path` may be as long as a name can be.
// Returns its descriptor, or -1.
int CreateBeside(const std::string& path, std::string* beside) {
  for (int i = 0; i < kAttempts; ++i) {
    uint32_t random = 0;
    if (!FillRandom(std::as_writable_bytes(std::span(&random, 1)))) return -1;
    *beside = absl::StrCat(DirectoryOf(path), "/.vof-", absl::Hex(random, absl::kZeroPad8));
    const int fd = open(beside->c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

}  // namespace

bool LooksLikeReadyFile(std::string_view content) {
  while (!content.empty()) {
    const std::string_view line = content.substr(0, content.find('\n'));
    const std::string_view scheme = line.substr(0, line.find("://"));
    if (scheme.empty() || scheme.size() == line.size()) return false;
    const bool is_scheme = std::all_of(scheme.begin(), scheme.end(), [](char c) {
      return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '+' || c == '-' || c == '.';
    });
    if (!is_scheme) return false;
    content.remove_prefix(std::min(content.size(), line.size() + 1));
  }
  return true;
}

ReadyFile::~ReadyFile() {
  if (!beside_.empty()) unlink(beside_.c_str());
  if (fd_ >= 0) close(fd_);
}

absl::Status ReadyFile::CannotWrite(const std::string& path) const {
  return absl::InternalError(
      absl::StrCat("cannot write to ", path, " (--ready-file): ", std::strerror(errno)));
}

absl::Status ReadyFile::Check() const {
  if (path_.empty()) return absl::OkStatus();
  ExistingFile existing;
  if (absl::Status status = existing.Open(path_); !status.ok()) return status;
  const std::string directory = DirectoryOf(path_);
  if (access((directory + "/").c_str(), W_OK | X_OK) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("cannot create ", path_, " in ", directory, ": ", std::strerror(errno)));
}

absl::Status ReadyFile::RemoveStale() const {
  bool locked_out = false;
  for (int i = 0; i < kAttempts && !path_.empty(); ++i) {
    ExistingFile existing;
    if (absl::Status status = existing.Open(path_); !status.ok()) return status;
    if (!existing.is_there()) return absl::OkStatus();
    locked_out = !existing.Lock();
    if (locked_out) {
      // Whoever only removes it has done so by then.
      usleep(kRemovalMicroseconds);
      continue;
    }
    if (!existing.IsStillAt(path_)) continue;
    if (unlink(path_.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat("cannot remove ", path_, " (--ready-file): ", std::strerror(errno)));
  }
  if (!locked_out) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(path_,
                   " (--ready-file) belongs to a target that runs: stop that one, or "
                   "choose another name"));
}

absl::Status ReadyFile::Prepare(std::string_view text) {
  if (path_.empty()) return absl::OkStatus();
  // One that came since the start, before anybody is told that this target is ready.
  if (absl::Status status = RemoveStale(); !status.ok()) return status;
  std::string beside;
  fd_ = CreateBeside(path_, &beside);
  if (fd_ < 0) return CannotWrite(beside);
  beside_ = beside;
  (void)flock(fd_, LOCK_EX | LOCK_NB);  // some file systems have no locks
  return WriteAll(fd_, text) && Flush(fd_) ? absl::OkStatus() : CannotWrite(beside_);
}

absl::Status ReadyFile::Publish() {
  if (path_.empty()) return absl::OkStatus();
  bool renamed = false;
  for (int i = 0; i < kAttempts && !renamed; ++i) {
    if (absl::Status status = RemoveStale(); !status.ok()) return status;
    renamed = renameat2(AT_FDCWD, beside_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) == 0;
    if (renamed || errno == EEXIST) continue;
    // Not every file system knows a rename that replaces nothing.
    if (errno != EINVAL && errno != ENOSYS) break;
    renamed = rename(beside_.c_str(), path_.c_str()) == 0;
    break;
  }
  if (!renamed) return CannotWrite(path_);
  beside_.clear();
  is_published_ = true;
  return absl::OkStatus();
}

absl::Status ReadyFile::Remove() {
  struct stat own = {}, there = {};
  if (!is_published_.exchange(false) || fstat(fd_, &own) != 0) return absl::OkStatus();
  if (lstat(path_.c_str(), &there) != 0 || !IsSame(own, there)) return absl::OkStatus();
  if (unlink(path_.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("cannot remove ", path_, " (--ready-file): ", std::strerror(errno)));
}

}  // namespace vof
