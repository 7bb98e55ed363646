// SPDX-License-Identifier: Apache-2.0
#include "backends/common/socket_dialer.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "backends/common/each_address.h"
#include "backends/common/file_descriptor.h"
#include "backends/common/socket_address.h"

namespace vof {
namespace {

// Waits for the end of a connect in progress; 0 or an errno, ETIMEDOUT at the deadline.
int FinishConnect(int fd, MonotonicTime deadline) {
  for (;;) {
    const int wait_ms = MillisecondsUntil(deadline, 1000 * kNanosecondsPerSecond);
    if (wait_ms == 0) return ETIMEDOUT;
    pollfd events{.fd = fd, .events = POLLOUT, .revents = 0};
    const int ready = poll(&events, 1, wait_ms);
    if (ready < 0 && errno != EINTR) return errno;
    if (ready <= 0) continue;
    int error = 0;
    socklen_t size = sizeof(error);
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
    return error;
  }
}

// A connect to a free port of this machine's ephemeral range can meet itself (simultaneous open).
bool MetItself(int fd) {
  absl::StatusOr<SocketAddress> local = SocketAddress::OfSocket(fd);
  absl::StatusOr<SocketAddress> peer = SocketAddress::OfPeer(fd);
  return local.ok() && peer.ok() && local->Text() == peer->Text();
}

// The error is an errno without context.
int ConnectOne(const SocketAddress& address, const SocketOptions& options, MonotonicTime deadline,
               FileDescriptor* connected) {
  FileDescriptor fd(
      socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!fd) return errno;
  if (!SetBufferSizes(fd.get(), options).ok()) return EINVAL;
  if (connect(fd.get(), address.get(), address.size_bytes()) != 0) {
    if (errno != EINPROGRESS && errno != EINTR) return errno;
    if (const int error = FinishConnect(fd.get(), deadline); error != 0) return error;
  }
  if (MetItself(fd.get())) return ECONNREFUSED;
  *connected = std::move(fd);
  return 0;
}

std::string Remedy(int error) {
  switch (error) {
    case EMFILE:
      return " (descriptor limit of this process, see ulimit -n)";
    case ECONNREFUSED:
      return " (is the target running, and is the port right?)";
    default:
      return "";
  }
}

}  // namespace

absl::StatusOr<FileDescriptor> ConnectSocket(const Uri& uri, const SocketOptions& options,
                                             const Resolver& resolver, MonotonicTime deadline) {
  return ConnectToEach<FileDescriptor>(
      uri, resolver, deadline, absl::StrCat("cannot connect to '", uri.host, "'"),
      [&](const SocketAddress& address, MonotonicTime until) -> absl::StatusOr<FileDescriptor> {
        const MonotonicTime began = MonotonicNow();
        FileDescriptor fd;
        const int error = ConnectOne(address, options, until, &fd);
        if (error == 0) return fd;
        if (error == ETIMEDOUT) return NoAnswerSince(began);
        return absl::UnavailableError(absl::StrCat(strerrordesc_np(error), Remedy(error)));
      });
}

}  // namespace vof
