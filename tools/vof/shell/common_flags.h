// SPDX-License-Identifier: Apache-2.0
//
// Flags that every verb takes.
//
//   CommonFlags flags;
//   for (const Flag& flag : CommonFlagsInto(&flags)) ...      // the parser's part
//   absl::Status fits = ApplyTo(flags, &uri.options);
#ifndef VOF_TOOLS_VOF_SHELL_COMMON_FLAGS_H_
#define VOF_TOOLS_VOF_SHELL_COMMON_FLAGS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/base/time.h"
#include "core/runtime/uri.h"
#include "tools/vof/shell/flag.h"

namespace vof {

struct CommonFlags {
  bool json = false;
  bool quiet = false;
  // These stand for the same keys of every URI on the command line and win over them.
  std::optional<std::string> initiator_name;
  std::optional<Nanoseconds> timeout;  // connect_timeout and io_timeout
  std::optional<Dialect> dialect;
};

// `values` outlives the flags.
std::vector<Flag> CommonFlagsInto(CommonFlags* values);

// Applies the flags to what a URI says. kInvalidArgument: the two do not fit each other.
absl::Status ApplyTo(const CommonFlags& flags, UriOptions* options);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_SHELL_COMMON_FLAGS_H_
