// SPDX-License-Identifier: Apache-2.0
//
// Addresses of devices: `tcp://HOST[:PORT]/TVQN?key=value`, `loop:///TVQN`.
//
//   absl::StatusOr<Uri> uri = ParseUri("tcp://[::1]:8549/disk%200?queues=4");
//   uri->host == "::1", uri->port == 8549, uri->name == "disk 0", uri->options.queues == 4
//
// The name is all that follows the first slash up to '?', percent-decoded once. An unknown key or a
// bad value is an error that lists what is known. Pure; any thread.
#ifndef VOF_CORE_RUNTIME_URI_H_
#define VOF_CORE_RUNTIME_URI_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/base/time.h"
#include "core/wire/command.h"

namespace vof {

// The keys of a URI's query; each absent one leaves its default.
struct UriOptions {
  std::string initiator_name;      // ivqn=; empty: the program's own
  uint16_t queues = 0;             // 0: one, or what the program chooses
  uint16_t queue_size = 0;         // 0: the most that the target offers
  Dialect dialect = Dialect::kV5;  // v5 | ref
  Nanoseconds connect_timeout =
      10 * kNanosecondsPerSecond;                       // "500ms", "10s"; a bare number is seconds
  Nanoseconds io_timeout = 30 * kNanosecondsPerSecond;  // 0: none
  Nanoseconds keepalive = 10 * kNanosecondsPerSecond;   // 0: none
};

struct Uri {
  std::string scheme;  // lower case
  std::string host;    // without brackets; may carry a scope ("fe80::1%eth0")
  uint16_t port = kDefaultPort;
  bool has_port = false;
  std::string name;  // TVQN, decoded; empty in a listening address
  UriOptions options;
};

absl::StatusOr<Uri> ParseUri(std::string_view text);
// A URI that ParseUri reads back: brackets, escapes and all. Options are written when not default.
std::string FormatUri(const Uri& uri);

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_URI_H_
