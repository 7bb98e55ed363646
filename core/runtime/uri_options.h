// SPDX-License-Identifier: Apache-2.0
//
// The query of a URI, `queues=4&io_timeout=10s`. For uri*.cc; pure.
#ifndef VOF_CORE_RUNTIME_URI_OPTIONS_H_
#define VOF_CORE_RUNTIME_URI_OPTIONS_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "core/base/time.h"
#include "core/runtime/uri.h"

namespace vof {

// Whose keys: those of one scheme, of who listens or of who connects.
struct UriKeyScope {
  std::string_view scheme;  // empty: any
  bool listens = false;
};

// An error names the key and what is known or allowed there.
absl::Status ParseUriOptions(std::string_view query, const UriKeyScope& scope, UriOptions* options);
// Those that differ from the defaults; empty when none does.
std::string FormatUriOptions(const UriOptions& options);

// "500ms", "10s", "2m", "1h", a bare number of seconds; at most kLongestUriDuration.
std::optional<Nanoseconds> ParseUriDuration(std::string_view text);
std::string FormatUriDuration(Nanoseconds duration);  // whole milliseconds

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_URI_OPTIONS_H_
