// SPDX-License-Identifier: Apache-2.0
#include "tools/common/standard_error.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace vof {
namespace {

// A pipe that can be written takes that much as a whole.
constexpr size_t kMostAtOnce = PIPE_BUF;

bool IsTerminal() { return isatty(STDERR_FILENO) == 1; }

bool HasReader() {
  struct stat there = {};
  return fstat(STDERR_FILENO, &there) == 0 && (S_ISFIFO(there.st_mode) || IsTerminal());
}

// Whether a write would not wait, at once or within `patience`.
bool IsWritable(int fd, Nanoseconds patience) {
  pollfd state = {.fd = fd, .events = POLLOUT, .revents = 0};
  const auto ms = static_cast<int>(patience / kNanosecondsPerMillisecond);
  int ready = 0;
  do {
    ready = poll(&state, 1, ms);
  } while (ready < 0 && errno == EINTR);
  // Errors are writable: the write tells which one it is.
  return ready > 0;
}

ssize_t WriteWithoutWaiting(int fd, std::string_view piece) {
  const ssize_t sent = send(fd, piece.data(), piece.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0 || errno != ENOTSOCK) return sent;
  return write(fd, piece.data(), piece.size());
}

}  // namespace

// O_NONBLOCK on descriptor 2 itself would hold for every process that shares it, the shell too; a
// second opening of the pipe or terminal has flags of its own. Files would lose their position that
// way, and they do not wait for readers.
StandardError::StandardError(const StandardErrorOptions& options)
    : fd_(STDERR_FILENO), most_at_once_(kMostAtOnce) {
  if (!HasReader()) return;
  own_ = open(options.path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (own_ >= 0) {
    fd_ = own_;
    return;
  }
  needs_relay_ = options.may_start_thread;
  // Of a terminal poll() tells only that there is room for one.
  if (IsTerminal()) most_at_once_ = 1;
}

StandardError::~StandardError() {
  if (own_ >= 0) close(own_);
}

void StandardError::StartRelay() {
  if (!needs_relay_) return;
  needs_relay_ = false;
  relay_ = StandardErrorRelay::OfThisProcess();
  if (relay_ == nullptr) return;
  fd_ = relay_->fd();
  most_at_once_ = kMostAtOnce;
}

bool StandardError::Write(std::string_view text, Nanoseconds patience) {
  StartRelay();
  if (is_within_line_ && !WritePieces("\n", patience)) return false;
  is_within_line_ = false;
  return WritePieces(text, patience) && (patience == 0 || IsHandedOn(patience));
}

bool StandardError::IsHandedOn(Nanoseconds patience) {
  if (relay_ == nullptr || relay_->IsHandedOn(patience)) return true;
  error_ = EAGAIN;
  return false;
}

ssize_t StandardError::WritePiece(std::string_view piece) const {
  return relay_ != nullptr ? relay_->Write(piece) : WriteWithoutWaiting(fd_, piece);
}

bool StandardError::WritePieces(std::string_view text, Nanoseconds patience) {
  while (!text.empty()) {
    if (!IsWritable(fd_, patience)) {
      error_ = EAGAIN;
      return false;
    }
    const ssize_t written = WritePiece(text.substr(0, std::min(text.size(), most_at_once_)));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      error_ = errno;
      return false;
    }
    is_within_line_ = text[static_cast<size_t>(written) - 1] != '\n';
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace vof
