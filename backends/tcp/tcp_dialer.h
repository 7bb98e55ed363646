// SPDX-License-Identifier: Apache-2.0
//
// Connects to the first address of a name that answers.
//
//   absl::StatusOr<TcpStream> stream = DialTcp(uri, options, SystemResolver(), deadline);
//
// Each address gets an equal share of what time is left, so a dead one never takes the time of the
// live.
#ifndef VOF_BACKENDS_TCP_TCP_DIALER_H_
#define VOF_BACKENDS_TCP_TCP_DIALER_H_

#include "absl/status/statusor.h"
#include "backends/common/resolver.h"
#include "backends/tcp/tcp_stream.h"
#include "core/base/time.h"
#include "core/runtime/backend.h"
#include "core/runtime/uri.h"

namespace vof {

// Blocks until `deadline` at most. The error lists every address that was tried and how it failed:
// kUnavailable, or kDeadlineExceeded when nobody answered at all.
absl::StatusOr<TcpStream> DialTcp(const Uri& uri, const SocketOptions& options,
                                  const Resolver& resolver, MonotonicTime deadline);

}  // namespace vof

#endif  // VOF_BACKENDS_TCP_TCP_DIALER_H_
