// SPDX-License-Identifier: Apache-2.0
#include "backends/common/socket_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace vof {
namespace {

// A silent peer is found dead after idle + count * interval = 60 s even when no keepalive of the
// protocol is on (`ref`); unacknowledged data ends the connection after as long.
constexpr int kProbeIdleSeconds = 30;
constexpr int kProbeIntervalSeconds = 10;
constexpr int kProbeCount = 3;
constexpr int kUserTimeoutMs = 60'000;

absl::Status SetOption(int fd, int level, int option, int value, const char* name) {
  if (setsockopt(fd, level, option, &value, sizeof(value)) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot set ", name, " to ", value));
}

}  // namespace

SocketAddress::SocketAddress(const sockaddr* address, socklen_t size_bytes)
    : size_bytes_(std::min<socklen_t>(size_bytes, sizeof(storage_))) {
  std::memcpy(&storage_, address, size_bytes_);
}

absl::StatusOr<SocketAddress> SocketAddress::OfSocket(int fd) {
  SocketAddress address;
  address.size_bytes_ = sizeof(address.storage_);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address.storage_), &address.size_bytes_) == 0) {
    return address;
  }
  return absl::ErrnoToStatus(errno, "cannot read the address of a socket");
}

absl::StatusOr<SocketAddress> SocketAddress::OfPeer(int fd) {
  SocketAddress address;
  address.size_bytes_ = sizeof(address.storage_);
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&address.storage_), &address.size_bytes_) == 0) {
    return address;
  }
  return absl::ErrnoToStatus(errno, "cannot read the address of a peer");
}

absl::StatusOr<SocketAddress> SocketAddress::Parse(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", host, "' is not a numeric address: ", gai_strerror(error)));
  }
  const SocketAddress address(found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return address;
}

const sockaddr* SocketAddress::get() const { return reinterpret_cast<const sockaddr*>(&storage_); }

uint16_t SocketAddress::port() const {
  if (family() == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_port);
  if (family() == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in*>(&storage_)->sin_port);
  return 0;
}

void SocketAddress::set_port(uint16_t port) {
  if (family() == AF_INET6) reinterpret_cast<sockaddr_in6*>(&storage_)->sin6_port = htons(port);
  if (family() == AF_INET) reinterpret_cast<sockaddr_in*>(&storage_)->sin_port = htons(port);
}

std::string SocketAddress::HostText() const {
  std::array<char, NI_MAXHOST> host{};
  // Numeric: no look-up; it knows scopes, unlike inet_ntop.
  if (getnameinfo(get(), size_bytes_, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0) {
    return "unknown address";
  }
  return family() == AF_INET6 ? absl::StrCat("[", host.data(), "]") : std::string(host.data());
}

std::string SocketAddress::Text() const { return absl::StrCat(HostText(), ":", port()); }

bool SocketAddress::IsLoopback6() const {
  if (family() != AF_INET6) return false;
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_addr);
}

absl::Status SetBufferSizes(int fd, const SocketOptions& options) {
  const auto set = [fd](int option, int bytes, const char* name) {
    if (bytes == 0 || setsockopt(fd, SOL_SOCKET, option, &bytes, sizeof(bytes)) == 0) {
      return absl::OkStatus();
    }
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot set ", name, " to ", bytes, " bytes"));
  };
  if (absl::Status s = set(SO_SNDBUF, options.send_buffer_bytes, "SO_SNDBUF"); !s.ok()) return s;
  return set(SO_RCVBUF, options.receive_buffer_bytes, "SO_RCVBUF");
}

absl::Status SetTcpOptions(int fd) {
  struct Option {
    int level;
    int option;
    int value;
    const char* name;
  };
  const Option wanted[] = {
      {IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY"},
      {SOL_SOCKET, SO_KEEPALIVE, 1, "SO_KEEPALIVE"},
      {IPPROTO_TCP, TCP_KEEPIDLE, kProbeIdleSeconds, "TCP_KEEPIDLE"},
      {IPPROTO_TCP, TCP_KEEPINTVL, kProbeIntervalSeconds, "TCP_KEEPINTVL"},
      {IPPROTO_TCP, TCP_KEEPCNT, kProbeCount, "TCP_KEEPCNT"},
      {IPPROTO_TCP, TCP_USER_TIMEOUT, kUserTimeoutMs, "TCP_USER_TIMEOUT"},
  };
  for (const Option& o : wanted) {
    if (absl::Status s = SetOption(fd, o.level, o.option, o.value, o.name); !s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace vof
