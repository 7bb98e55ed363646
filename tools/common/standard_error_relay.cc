// SPDX-License-Identifier: Apache-2.0
#include "tools/common/standard_error_relay.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

namespace vof {

StandardErrorRelay* StandardErrorRelay::OfThisProcess() {
  // Never destroyed: the thread does not end. One, as there is one descriptor 2.
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
  static StandardErrorRelay* const relay = []() -> StandardErrorRelay* {
    auto* made = new StandardErrorRelay;
    if (made->Start()) return made;
    delete made;
    return nullptr;
  }();
  return relay;
}

bool StandardErrorRelay::Start() {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  reader_ = ends[0];
  writer_ = ends[1];
  // Signals are for the threads that know what to do about them.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto run = [](void* relay) -> void* {
    static_cast<StandardErrorRelay*>(relay)->Run();
    return nullptr;
  };
  pthread_t thread;
  const bool is_started =
      fcntl(writer_, F_SETFL, O_NONBLOCK) == 0 && pthread_create(&thread, nullptr, run, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (is_started) {
    pthread_detach(thread);
    return true;
  }
  close(reader_);
  close(writer_);
  return false;
}

void StandardErrorRelay::Run() {
  char part[PIPE_BUF];
  while (true) {
    const ssize_t count = read(reader_, part, sizeof(part));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;  // cannot be: this process has both ends
    HandOn(std::string_view(part, static_cast<size_t>(count)));
    // In that order, see IsHandedOn.
    handed_on_ += count;
    in_flight_ -= count;
  }
}

void StandardErrorRelay::HandOn(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {  // whoever started this process has it so
      pollfd state = {.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
      poll(&state, 1, -1);
      continue;
    }
    if (written < 0) {
      error_ = errno;
      return;
    }
    text.remove_prefix(static_cast<size_t>(written));
  }
}

ssize_t StandardErrorRelay::Write(std::string_view text) {
  if (const int error = error_.exchange(0); error != 0) {
    errno = error;
    return -1;
  }
  const auto size = static_cast<int64_t>(text.size());
  in_flight_ += size;
  const ssize_t written = write(writer_, text.data(), text.size());
  const int error = errno;
  in_flight_ -= size - (written > 0 ? written : 0);
  errno = error;
  return written;
}

bool StandardErrorRelay::IsHandedOn(Nanoseconds patience) const {
  // Others may write all the time: of their texts nothing has to arrive.
  const int64_t in_flight = in_flight_;
  const int64_t enough = handed_on_ + in_flight;
  int64_t handed_on = handed_on_;
  MonotonicTime last_progress = MonotonicNow();
  while (in_flight_ > 0 && handed_on < enough) {
    if (MonotonicNow() - last_progress >= patience) return false;
    poll(nullptr, 0, 1);
    if (handed_on_ == handed_on) continue;
    handed_on = handed_on_;
    last_progress = MonotonicNow();
  }
  return true;
}

}  // namespace vof
