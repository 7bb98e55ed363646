// SPDX-License-Identifier: Apache-2.0
//
// Connecting to a name that stands for several addresses: each in turn, until one answers.
//
//   return ConnectToEach<FileDescriptor>(
//       uri, resolver, deadline, absl::StrCat("cannot connect to '", uri.host, "'"),
//       [&](const SocketAddress& address, MonotonicTime until) { return One(address, until); });
//
// Each address gets an equal share of what time is left, so a dead one never takes the time of the
// live. Blocks: for control threads only.
#ifndef VOF_BACKENDS_COMMON_EACH_ADDRESS_H_
#define VOF_BACKENDS_COMMON_EACH_ADDRESS_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/common/resolver.h"
#include "backends/common/socket_address.h"
#include "core/base/time.h"
#include "core/runtime/uri.h"

namespace vof {

// For poll(): at least 1 while there is time left, and not more than `longest`.
inline int MillisecondsUntil(MonotonicTime deadline, Nanoseconds longest) {
  const Nanoseconds left = std::clamp<Nanoseconds>(deadline - MonotonicNow(), 0, longest);
  return static_cast<int>((left + kNanosecondsPerMillisecond - 1) / kNanosecondsPerMillisecond);
}

inline absl::Status NoAnswerSince(MonotonicTime began) {
  const Nanoseconds waited_ms =
      (MonotonicNow() - began + kNanosecondsPerMillisecond - 1) / kNanosecondsPerMillisecond;
  // Of a machine that is busy, or of addresses that were tried before.
  if (waited_ms <= 1) return absl::DeadlineExceededError("the time was over before it was asked");
  return absl::DeadlineExceededError(absl::StrCat("no answer within ", waited_ms, " ms"));
}

inline absl::Status CheckHasHost(const Uri& uri) {
  if (!uri.host.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      uri.scheme, ":// needs a host to connect to, as in ", uri.scheme, "://HOST/NAME"));
}

// `connect(address, until)` is an absl::StatusOr<T> whose error is a clause without the address:
// kDeadlineExceeded for silence. The error lists every address that was tried and how it failed:
// kUnavailable, or kDeadlineExceeded when nobody answered at all, or kResourceExhausted when this
// side lacked something.
template <typename T, typename Connect>
absl::StatusOr<T> ConnectToEach(const Uri& uri, const Resolver& resolver, MonotonicTime deadline,
                                const std::string& what, Connect connect) {
  if (absl::Status s = CheckHasHost(uri); !s.ok()) return s;
  absl::StatusOr<std::vector<SocketAddress>> addresses =
      resolver({.host = uri.host, .port = uri.port, .listening = false, .deadline = deadline});
  if (!addresses.ok()) return addresses.status();
  std::vector<std::string> failures;
  bool all_silent = true;
  absl::StatusCode code = absl::StatusCode::kUnavailable;
  for (size_t i = 0; i < addresses->size(); ++i) {
    const SocketAddress& address = (*addresses)[i];
    const MonotonicTime now = MonotonicNow();
    const auto shares = static_cast<Nanoseconds>(addresses->size() - i);
    const MonotonicTime until = deadline == kInfiniteFuture
                                    ? deadline
                                    : now + std::max<Nanoseconds>(0, deadline - now) / shares;
    absl::StatusOr<T> connected = connect(address, until);
    if (connected.ok()) return connected;
    const absl::Status& failure = connected.status();
    all_silent = all_silent && absl::IsDeadlineExceeded(failure);
    if (absl::IsResourceExhausted(failure)) code = failure.code();
    failures.push_back(absl::StrCat(address.Text(), ": ", failure.message()));
  }
  if (all_silent) code = absl::StatusCode::kDeadlineExceeded;
  return absl::Status(code, absl::StrCat(what, ": ", absl::StrJoin(failures, "; ")));
}

}  // namespace vof

#endif  // VOF_BACKENDS_COMMON_EACH_ADDRESS_H_
