// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/announce.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "tools/vof_target/advertised_host.h"

namespace vof {
namespace {

// How long a signal may remain unnoticed.
constexpr int kStepMs = 100;

absl::Status CannotWrite(std::string_view what) {
  return absl::InternalError(
      absl::StrCat("cannot write to ", std::string(what), ": ", std::strerror(errno)));
}

// Of those that StopSignals holds back; nobody takes them before the target serves.
bool IsToldToStop() {
  sigset_t pending;
  if (sigpending(&pending) != 0) return false;
  return sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1 ||
         sigismember(&pending, SIGHUP) == 1;
}

// Returns false when told to stop before that. An error is room: the write tells which one it is.
bool AwaitRoom(int fd) {
  pollfd state = {.fd = fd, .events = POLLOUT, .revents = 0};
  while (true) {
    const int ready = poll(&state, 1, kStepMs);
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true;
    if (IsToldToStop()) return false;
  }
}

// Waits for whoever reads it, but never inside a write: signals are held back, and nothing would
// end that one.
absl::Status WriteTo(int fd, std::string_view what, std::string_view text) {
  // What is writable takes that much as a whole; of a terminal only one byte is certain.
  const size_t most = isatty(fd) == 1 ? 1 : PIPE_BUF;
  while (!text.empty()) {
    if (!AwaitRoom(fd)) {
      return absl::CancelledError(
          absl::StrCat("interrupted while waiting for whoever reads ", std::string(what)));
    }
    const ssize_t written = write(fd, text.data(), std::min(text.size(), most));
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (written < 0) return CannotWrite(what);
    text.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

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

absl::Status CheckReadyFd(int fd) {
  if (fd == -1) return absl::OkStatus();
  const std::string what = absl::StrCat("descriptor ", fd);
  const int flags = fcntl(fd, F_GETFL);
  if (flags == -1) return absl::InvalidArgumentError(absl::StrCat(what, " is not open"));
  if ((flags & O_ACCMODE) != O_RDONLY) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " is not open for writing"));
}

absl::Status Announce(const std::vector<std::string>& uris, int ready_fd, ReadyFile* ready_file) {
  std::string text;
  for (const std::string& uri : uris) absl::StrAppend(&text, uri, "\n");
  if (absl::Status status = ready_file->Prepare(text); !status.ok()) return status;
  if (absl::Status status = WriteTo(STDOUT_FILENO, "standard output", text); !status.ok()) {
    return status;
  }
  if (absl::Status status = ready_file->Publish(); !status.ok()) return status;
  if (ready_fd < 0) return absl::OkStatus();
  const std::string what = absl::StrCat("descriptor ", ready_fd, " (--ready-fd)");
  if (absl::Status status = WriteTo(ready_fd, what, text); !status.ok()) return status;
  if (ready_fd > STDERR_FILENO && close(ready_fd) != 0) return CannotWrite(what);
  return absl::OkStatus();
}

}  // namespace vof
