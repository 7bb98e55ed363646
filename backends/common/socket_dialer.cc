// SPDX-License-Identifier: Apache-2.0
#include "backends/common/socket_dialer.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/common/file_descriptor.h"
#include "backends/common/socket_address.h"

namespace vof {
namespace {

// Waits for the end of a connect in progress; 0 or an errno, ETIMEDOUT at the deadline.
int FinishConnect(int fd, MonotonicTime deadline) {
  for (;;) {
    const Nanoseconds left = deadline - MonotonicNow();
    if (left <= 0) return ETIMEDOUT;
    const Nanoseconds longest = 1000 * kNanosecondsPerSecond;
    const int wait_ms = static_cast<int>(std::min(left, longest) / kNanosecondsPerMillisecond) + 1;
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
  if (uri.host.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        uri.scheme, ":// needs a host to connect to, as in ", uri.scheme, "://HOST/NAME"));
  }
  absl::StatusOr<std::vector<SocketAddress>> addresses =
      resolver({.host = uri.host, .port = uri.port, .listening = false, .deadline = deadline});
  if (!addresses.ok()) return addresses.status();
  std::vector<std::string> failures;
  bool all_silent = true;
  for (size_t i = 0; i < addresses->size(); ++i) {
    const SocketAddress& address = (*addresses)[i];
    const MonotonicTime now = MonotonicNow();
    const auto shares = static_cast<Nanoseconds>(addresses->size() - i);
    const MonotonicTime until = deadline == kInfiniteFuture
                                    ? deadline
                                    : now + std::max<Nanoseconds>(0, deadline - now) / shares;
    FileDescriptor fd;
    const int error = ConnectOne(address, options, until, &fd);
    if (error == 0) return fd;
    all_silent = all_silent && error == ETIMEDOUT;
    if (error == ETIMEDOUT) {
      const auto waited_ms = (MonotonicNow() - now) / kNanosecondsPerMillisecond;
      failures.push_back(absl::StrCat(address.Text(), ": no answer within ", waited_ms, " ms"));
    } else {
      failures.push_back(absl::StrCat(address.Text(), ": ", strerrordesc_np(error), Remedy(error)));
    }
  }
  const std::string text =
      absl::StrCat("cannot connect to '", uri.host, "': ", absl::StrJoin(failures, "; "));
  return all_silent ? absl::DeadlineExceededError(text) : absl::UnavailableError(text);
}

}  // namespace vof
