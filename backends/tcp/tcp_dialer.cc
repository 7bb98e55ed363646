// SPDX-License-Identifier: Apache-2.0
#include "backends/tcp/tcp_dialer.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "backends/common/file_descriptor.h"
#include "backends/common/socket_dialer.h"

namespace vof {

absl::StatusOr<TcpStream> DialTcp(const Uri& uri, const SocketOptions& options,
                                  const Resolver& resolver, MonotonicTime deadline) {
  absl::StatusOr<FileDescriptor> socket = ConnectSocket(uri, options, resolver, deadline);
  if (!socket.ok()) return socket.status();
  absl::StatusOr<TcpStream> stream = TcpStream::Adopt(*std::move(socket), options);
  if (stream.ok()) return stream;
  return absl::UnavailableError(
      absl::StrCat("cannot connect to '", uri.host, "': ", stream.status().message()));
}

}  // namespace vof
