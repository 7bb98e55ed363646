// SPDX-License-Identifier: Apache-2.0
//
// From a host name to addresses; replaceable, so that tests need no name server.
//
//   Resolver resolver = SystemResolver();
//   absl::StatusOr<std::vector<SocketAddress>> all =
//       resolver({.host = "disk.example", .port = 8549, .deadline = deadline});
#ifndef VOF_BACKENDS_COMMON_RESOLVER_H_
#define VOF_BACKENDS_COMMON_RESOLVER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/common/socket_address.h"
#include "core/base/time.h"

namespace vof {

struct ResolveQuery {
  std::string host;  // empty when listening: every address of this machine
  uint16_t port = 0;
  bool listening = false;
  MonotonicTime deadline = kInfiniteFuture;
};

// At least one address, best first; an error names the host. Blocks until the deadline at most. Any
// thread.
using Resolver = std::function<absl::StatusOr<std::vector<SocketAddress>>(const ResolveQuery&)>;

// getaddrinfo. It cannot be interrupted, so a name (not a numeric address) is looked up by a thread
// of its own, which outlives the deadline if it must.
Resolver SystemResolver();

}  // namespace vof

#endif  // VOF_BACKENDS_COMMON_RESOLVER_H_
