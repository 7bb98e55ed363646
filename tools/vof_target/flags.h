// SPDX-License-Identifier: Apache-2.0
//
// The command line of a target program.
//
//   TargetFlags flags;
//   if (std::optional<ExitCode> done = ParseTargetFlags("vof-target", argc, argv, &flags)) return
//   *done; Serve(flags.config);
//
// A configuration file is read first; flags then replace its values and add to its lists. When it
// returns an exit code, errors have been printed to stderr; values that cannot be read are left to
// CheckTargetConfig (TargetConfig::unreadable), which reports them with the rest.
#ifndef VOF_TOOLS_VOF_TARGET_FLAGS_H_
#define VOF_TOOLS_VOF_TARGET_FLAGS_H_

#include <optional>
#include <string>

#include "tools/common/exit_code.h"
#include "tools/config/target_config.h"

namespace vof {

inline constexpr char kListenFlag[] = "--listen";

struct TargetFlags {
  TargetConfig config;
  bool check = false;         // validate only
  bool print_config = false;  // print the effective configuration only
  int ready_fd = -1;          // gets the URIs, then is closed
  std::string ready_file;     // gets the URIs, all at once
};

// An exit code when the program has nothing more to do: help or version was printed (kOk), or
// something was wrong (kUsage).
std::optional<ExitCode> ParseTargetFlags(const std::string& program, int argc,
                                         const char* const* argv, TargetFlags* flags);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TARGET_FLAGS_H_
