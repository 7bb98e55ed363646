// SPDX-License-Identifier: Apache-2.0
#include "backends/common/socket_listener.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "backends/common/listen_remedy.h"
#include "backends/common/socket_address.h"
#include "core/runtime/reactor.h"
#include "core/runtime/uri.h"

namespace vof {
namespace {

// With port 0 the first address chooses; another one may find that port taken, then all choose
// again.
constexpr int kPortAttempts = 16;

FileDescriptor OpenReserve() { return FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

std::string DescribeShortage(int error) {
  switch (error) {
    case EMFILE: {
      rlimit limit = {};
      getrlimit(RLIMIT_NOFILE, &limit);
      return absl::StrCat("out of file descriptors, RLIMIT_NOFILE of this process is ",
                          limit.rlim_cur,
                          "; raise it (`ulimit -n`, LimitNOFILE= of systemd) or allow fewer "
                          "connections");
    }
    case ENFILE:
      return "out of file descriptors of this machine; raise `sysctl fs.file-max`";
    default:
      return "out of memory for sockets; see `sysctl net.ipv4.tcp_mem`";
  }
}

absl::Status ListenError(const SocketAddress& address, int error) {
  std::string text =
      absl::StrCat("cannot listen on ", address.Text(), ": ", strerrordesc_np(error));
  if (const std::string remedy(ListenRemedy(error)); !remedy.empty())
    absl::StrAppend(&text, " (", remedy, ")");
  // Not ErrnoToStatus, whose text repeats the cause.
  return absl::Status(absl::ErrnoToStatusCode(error), text);
}

// 0 or an errno.
int ListenOn(const SocketAddress& address, const SocketOptions& options,
             FileDescriptor* listening) {
  FileDescriptor fd(
      socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!fd) return errno;
  const int on = 1;
  // A port whose old connections are in TIME_WAIT is free for us.
  if (setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0) return errno;
  if (address.family() == AF_INET6 &&
      setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) != 0) {
    return errno;
  }
  if (!SetBufferSizes(fd.get(), options).ok()) return EINVAL;
  if (bind(fd.get(), address.get(), address.size_bytes()) != 0) return errno;
  if (listen(fd.get(), options.backlog) != 0) return errno;
  *listening = std::move(fd);
  return 0;
}

// A name such as localhost has an IPv6 address even where there is no IPv6.
bool MayBeAbsent(const SocketAddress& address, int error) {
  return error == EAFNOSUPPORT || (error == EADDRNOTAVAIL && address.IsLoopback6());
}

struct Opened {
  std::vector<FileDescriptor> sockets;
  uint16_t port = 0;
  int error = 0;  // of `failed`
  SocketAddress failed;
};

Opened OpenAll(std::vector<SocketAddress> addresses, const SocketOptions& options) {
  Opened opened;
  opened.port = addresses.front().port();
  int absent_error = 0;
  for (SocketAddress& address : addresses) {
    address.set_port(opened.port);
    FileDescriptor fd;
    if (const int error = ListenOn(address, options, &fd); error != 0) {
      opened.failed = address;
      if (MayBeAbsent(address, error)) {
        absent_error = error;
        continue;
      }
      opened.error = error;
      return opened;
    }
    if (opened.port == 0) {
      absl::StatusOr<SocketAddress> bound = SocketAddress::OfSocket(fd.get());
      opened.port = bound.ok() ? bound->port() : 0;
    }
    opened.sockets.push_back(std::move(fd));
  }
  if (opened.sockets.empty()) opened.error = absent_error;
  return opened;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> SocketListener::Open(
    const Uri& uri, const SocketOptions& options, const Resolver& resolver, Reactor* reactor,
    SocketHandler accept, TroubleHandler on_trouble) {
  absl::StatusOr<std::vector<SocketAddress>> addresses =
      resolver({.host = uri.host, .port = uri.port, .listening = true});
  if (!addresses.ok()) return addresses.status();
  Opened opened;
  for (int attempt = 0; attempt < kPortAttempts; ++attempt) {
    opened = OpenAll(*addresses, options);
    const bool unlucky = uri.port == 0 && opened.error == EADDRINUSE;
    if (!unlucky) break;
  }
  if (opened.error != 0) return ListenError(opened.failed, opened.error);
  std::unique_ptr<SocketListener> listener(
      new SocketListener(reactor, std::move(accept), std::move(on_trouble)));
  listener->sockets_ = std::move(opened.sockets);
  listener->address_.scheme = uri.scheme;
  listener->address_.host = uri.host;
  listener->address_.port = opened.port;
  listener->address_.has_port = true;
  if (absl::Status s = listener->StartWatching(); !s.ok()) return s;
  return listener;
}

SocketListener::SocketListener(Reactor* reactor, SocketHandler accept, TroubleHandler on_trouble)
    : reactor_(reactor),
      acceptor_(std::make_shared<Acceptor>(Acceptor{std::move(accept), true})),
      on_trouble_(std::move(on_trouble)),
      reserve_(OpenReserve()) {}

SocketListener::~SocketListener() {
  acceptor_->is_open = false;
  StopWatching();
  if (pause_timer_ != 0) reactor_->CancelTimer(pause_timer_);
}

absl::Status SocketListener::StartWatching() {
  for (const FileDescriptor& socket : sockets_) {
    const int fd = socket.get();
    if (absl::Status s = reactor_->Watch(fd, [this, fd] { AcceptFrom(fd); }); !s.ok()) return s;
  }
  return absl::OkStatus();
}

void SocketListener::StopWatching() {
  for (const FileDescriptor& socket : sockets_) reactor_->Unwatch(socket.get());
}

void SocketListener::AcceptFrom(int listening_fd) {
  const std::shared_ptr<Acceptor> acceptor = acceptor_;
  for (int i = 0; i < kAcceptBudget && acceptor->is_open; ++i) {
    FileDescriptor fd(accept4(listening_fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) {
      const int error = errno;
      if (error == EAGAIN) return;
      if (!OnAcceptError(listening_fd, error)) return;
      continue;
    }
    acceptor->accept(std::move(fd));
  }
}

bool SocketListener::OnAcceptError(int listening_fd, int error) {
  const uint64_t before = turned_away_;
  switch (error) {
    case EMFILE:
    case ENFILE:
      // The kernel says so before it looks whether anybody is there.
      if (!TurnAway(listening_fd) && turned_away_ == before) return false;
      Pause();
      Report(error, turned_away_ - before);
      return false;
    case ENOBUFS:
    case ENOMEM:
      Pause();
      Report(error, 0);
      return false;
    default:
      // Errors of the connection that was to be accepted (ECONNABORTED, EPROTO, ENETDOWN, ...): the
      // next one may be well.
      return true;
  }
}

bool SocketListener::TurnAway(int listening_fd) {
  for (int i = 0; i < kAcceptBudget; ++i) {
    reserve_.reset();
    FileDescriptor client(accept4(listening_fd, nullptr, nullptr, SOCK_CLOEXEC));
    const int error = client ? 0 : errno;
    client.reset();
    reserve_ = OpenReserve();
    if (error != 0) return error != EAGAIN;
    ++turned_away_;
  }
  return true;
}

void SocketListener::Report(int error, uint64_t turned_away) const {
  if (!on_trouble_) return;
  const std::string clients =
      turned_away == 0 ? "clients wait" : absl::StrCat(turned_away, " clients turned away");
  on_trouble_(absl::StrCat(FormatUri(address_), ": ", clients, ": ", DescribeShortage(error)));
}

void SocketListener::Pause() {
  if (pause_timer_ != 0) return;
  StopWatching();
  pause_timer_ = reactor_->AddTimer(DeadlineAfter(MonotonicNow(), kAcceptPause), [this] {
    pause_timer_ = 0;
    if (!reserve_) reserve_ = OpenReserve();
    if (!StartWatching().ok()) Pause();
  });
}

}  // namespace vof
