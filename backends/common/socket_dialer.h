// SPDX-License-Identifier: Apache-2.0
//
// Connects a TCP socket to the host of a URI.
//
//   absl::StatusOr<FileDescriptor> socket = ConnectSocket(uri, {}, SystemResolver(), deadline);
#ifndef VOF_BACKENDS_COMMON_SOCKET_DIALER_H_
#define VOF_BACKENDS_COMMON_SOCKET_DIALER_H_

#include "absl/status/statusor.h"
#include "backends/common/file_descriptor.h"
#include "backends/common/resolver.h"
#include "core/base/time.h"
#include "core/runtime/backend.h"
#include "core/runtime/uri.h"

namespace vof {

// Tries each address of the host; blocks until `deadline` at most. The error lists every address
// that was tried and how it failed: kUnavailable, or kDeadlineExceeded when nobody answered at all.
// The socket does not block.
absl::StatusOr<FileDescriptor> ConnectSocket(const Uri& uri, const SocketOptions& options,
                                             const Resolver& resolver, MonotonicTime deadline);

}  // namespace vof

#endif  // VOF_BACKENDS_COMMON_SOCKET_DIALER_H_
