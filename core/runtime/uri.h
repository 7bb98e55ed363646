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
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/base/time.h"
#include "core/wire/command.h"

namespace vof {

// The keys of a URI's query; each absent one leaves its default. Times are written "500ms", "10s",
// "2m"; a bare number is seconds.
struct UriOptions {
  std::string initiator_name;      // ivqn=; empty: the program's own
  uint16_t queues = 0;             // 0: one, or what the program chooses
  uint16_t queue_size = 0;         // 0: the most that the target offers; keyed: 128
  Dialect dialect = Dialect::kV5;  // v5 | ref
  // Until the device is ready, all in all.
  Nanoseconds connect_timeout = 10 * kNanosecondsPerSecond;
  // Until the answer to a request, or to a command of a device that is ready; 0: none.
  Nanoseconds io_timeout = 30 * kNanosecondsPerSecond;
  Nanoseconds keepalive = 10 * kNanosecondsPerSecond;  // 0: none
  // For one scheme each; ParseUri refuses them in others.
  std::string provider;                               // ofi: of libfabric; empty: its first choice
  Transmission transmission = Transmission::kStream;  // loop: what to connect with
};

// What the times of a URI may be.
struct DurationRange {
  Nanoseconds shortest = 0;
  Nanoseconds longest = 0;
  bool zero_means_none = false;
};
inline constexpr Nanoseconds kLongestUriDuration = 24 * 3600 * kNanosecondsPerSecond;
inline constexpr DurationRange kConnectTimeoutRange = {Milliseconds(1), kLongestUriDuration, false};
inline constexpr DurationRange kIoTimeoutRange = {Milliseconds(1), kLongestUriDuration, true};
inline constexpr DurationRange kKeepaliveRange = {Milliseconds(kMinKeepaliveMs),
                                                  Milliseconds(kMaxKeepaliveMs), true};

// A key of a URI's query for help and documents, from the table that parses it.
struct UriKeyHelp {
  std::string name;
  std::string meaning;
  std::string allowed;        // "a number from 1 to 256"
  std::string default_value;  // in words where there is no value for it
  std::string scheme;         // the only one that takes it; empty: each
};
std::vector<UriKeyHelp> DescribeUriKeys();

// Sets one key, its value not percent-encoded, as for a flag that stands for it. kInvalidArgument
// says what is known or allowed. Values that must fit each other are CheckUriOptions'.
absl::Status SetUriOption(std::string_view name, std::string_view value, UriOptions* options);
// Whether the values fit each other. ParseUri has checked; who changes options checks again.
absl::Status CheckUriOptions(const UriOptions& options);

struct Uri {
  std::string scheme;  // lower case
  std::string host;    // without brackets; may carry a scope ("fe80::1%eth0")
  uint16_t port = kDefaultPort;
  bool has_port = false;
  std::string name;  // TVQN, decoded; empty in a listening address
  UriOptions options;
};

absl::StatusOr<Uri> ParseUri(std::string_view text);
// The same of where to listen: errors show an address without a device; initiators' keys are
// refused, and so is a missing host, but for loop:///.
absl::StatusOr<Uri> ParseListenerUri(std::string_view text);
// A URI that ParseUri reads back: brackets, escapes and all. Options are written when not default.
std::string FormatUri(const Uri& uri);
// The same without what the initiator wants: how errors name a device. The provider stays, without
// which another fabric would be asked.
std::string FormatUriBare(const Uri& uri);

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_URI_H_
