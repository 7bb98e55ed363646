// SPDX-License-Identifier: Apache-2.0
//
// An IPv4 or IPv6 address with port, and the few socket calls that deal in them.
//
//   absl::StatusOr<SocketAddress> local = SocketAddress::OfSocket(fd);
//   local->Text() == "[fe80::1%eth0]:8549"
#ifndef VOF_BACKENDS_COMMON_SOCKET_ADDRESS_H_
#define VOF_BACKENDS_COMMON_SOCKET_ADDRESS_H_

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/runtime/backend.h"

namespace vof {

class SocketAddress {
 public:
  SocketAddress() = default;
  // `size_bytes` at most sizeof(sockaddr_storage).
  SocketAddress(const sockaddr* address, socklen_t size_bytes);

  static absl::StatusOr<SocketAddress> OfSocket(int fd);  // where it is bound
  static absl::StatusOr<SocketAddress> OfPeer(int fd);    // whom it is connected to
  // A numeric address, "192.0.2.1", "2001:db8::1" or "fe80::1%eth0"; for tests and resolvers.
  static absl::StatusOr<SocketAddress> Parse(const std::string& host, uint16_t port);

  int family() const { return storage_.ss_family; }
  uint16_t port() const;
  void set_port(uint16_t port);
  std::string HostText() const;  // "192.0.2.1", "[2001:db8::1]", "[fe80::1%eth0]"
  std::string Text() const;      // the same with ":port"
  bool IsLoopback6() const;

  const sockaddr* get() const;
  socklen_t size_bytes() const { return size_bytes_; }

 private:
  sockaddr_storage storage_{};
  socklen_t size_bytes_ = 0;
};

// SO_SNDBUF / SO_RCVBUF where asked for; before listen() or connect(), so that the window can
// scale.
absl::Status SetBufferSizes(int fd, const SocketOptions& options);
// Of a connected socket: no delay, and probes that find a peer which died without a word.
absl::Status SetTcpOptions(int fd);

}  // namespace vof

#endif  // VOF_BACKENDS_COMMON_SOCKET_ADDRESS_H_
