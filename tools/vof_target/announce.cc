// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/announce.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "tools/vof_target/advertised_host.h"

namespace vof {
namespace {

absl::Status CannotWrite(std::string_view what) {
  return absl::InternalError(
      absl::StrCat("cannot write to ", std::string(what), ": ", std::strerror(errno)));
}

bool WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// A file that appears under its name once it is complete, and not at all unless it is published.
class FileAtOnce {
 public:
  explicit FileAtOnce(const std::string& path) : path_(path), beside_(path + ".new") {}
  FileAtOnce(const FileAtOnce&) = delete;
  FileAtOnce& operator=(const FileAtOnce&) = delete;
  ~FileAtOnce() {
    if (is_written_) unlink(beside_.c_str());
  }

  absl::Status Write(std::string_view text) {
    const int fd = open(beside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) return CannotWrite(beside_);
    is_written_ = true;
    const bool written = WriteAll(fd, text);
    const int error = errno;
    const bool closed = close(fd) == 0;
    if (!written) errno = error;
    return written && closed ? absl::OkStatus() : CannotWrite(beside_);
  }
  absl::Status Publish() {
    if (rename(beside_.c_str(), path_.c_str()) != 0) return CannotWrite(path_);
    is_written_ = false;
    return absl::OkStatus();
  }

 private:
  const std::string path_, beside_;
  bool is_written_ = false;  // and has not been published
};

}  // namespace

std::vector<std::string> DeviceUris(const std::vector<Uri>& addresses,
                                    const std::vector<std::string>& names) {
  std::vector<std::string> uris;
  for (Uri uri : addresses) {
    uri.host = AdvertisedHost(uri.host);
    for (const std::string& name : names) {
      uri.name = name;
      uris.push_back(FormatUri(uri));
    }
  }
  return uris;
}

absl::Status CheckReadyFd(const AnnounceOptions& options) {
  if (options.ready_fd == -1) return absl::OkStatus();
  const std::string what = absl::StrCat("descriptor ", options.ready_fd);
  const int flags = fcntl(options.ready_fd, F_GETFL);
  if (flags == -1) return absl::InvalidArgumentError(absl::StrCat(what, " is not open"));
  if ((flags & O_ACCMODE) != O_RDONLY) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " is not open for writing"));
}

absl::Status CheckReadyFile(const AnnounceOptions& options) {
  const std::string& path = options.ready_file;
  if (path.empty()) return absl::OkStatus();
  struct stat there = {};
  if (stat(path.c_str(), &there) == 0 && S_ISDIR(there.st_mode)) {
    errno = EISDIR;
    return CannotWrite(path);
  }
  const size_t slash = path.rfind('/');
  const std::string directory =
      slash == std::string::npos ? "." : path.substr(0, std::max<size_t>(slash, 1));
  if (access((directory + "/").c_str(), W_OK | X_OK) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("cannot create ", path, " in ", directory, ": ", std::strerror(errno)));
}

absl::Status RemoveStaleReadyFile(const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return CannotWrite(absl::StrCat(path, " (--ready-file)"));
}

absl::Status Announce(const std::vector<std::string>& uris, const AnnounceOptions& options) {
  std::string text;
  for (const std::string& uri : uris) absl::StrAppend(&text, uri, "\n");
  FileAtOnce file(options.ready_file);
  const bool has_file = !options.ready_file.empty();
  if (has_file) {
    if (absl::Status status = file.Write(text); !status.ok()) return status;
  }
  if (!WriteAll(STDOUT_FILENO, text)) return CannotWrite("stdout");
  if (has_file) {
    if (absl::Status status = file.Publish(); !status.ok()) return status;
  }
  if (options.ready_fd < 0) return absl::OkStatus();
  const std::string what = absl::StrCat("descriptor ", options.ready_fd, " (--ready-fd)");
  if (!WriteAll(options.ready_fd, text)) return CannotWrite(what);
  if (options.ready_fd > STDERR_FILENO && close(options.ready_fd) != 0) return CannotWrite(what);
  return absl::OkStatus();
}

}  // namespace vof
