// SPDX-License-Identifier: Apache-2.0
//
// Lengths of time as people write them.
//
//   ParseDuration("500ms")          -> 500'000'000 ns
//   ParseDuration("10")             -> 10 s
//   FormatDuration(90 * seconds)    -> "90s"      exact: ParseDuration reads it back
//   HumanDuration(1'234'567)        -> "1.23 ms"  rounded, for people
//
// Pure; any thread. The units are those of the time-outs in a URI (core/runtime/uri.h).
#ifndef VOF_TOOLS_COMMON_DURATION_H_
#define VOF_TOOLS_COMMON_DURATION_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/base/time.h"

namespace vof {

// A whole number with ns, us, ms, s, m or h behind it; a bare number is seconds. kInvalidArgument
// says what is wrong with `text` and how a duration looks.
absl::StatusOr<Nanoseconds> ParseDuration(std::string_view text);

// The text with the largest whole unit; ParseDuration reads it back as exactly `duration` (not
// negative).
std::string FormatDuration(Nanoseconds duration);

// Three significant digits and a unit: "87 ns", "1.23 ms", "12.3 s".
std::string HumanDuration(Nanoseconds duration);

}  // namespace vof

#endif  // VOF_TOOLS_COMMON_DURATION_H_
