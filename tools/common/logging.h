// SPDX-License-Identifier: Apache-2.0
//
// Logging of a program: spdlog to stderr, one line per event, so that stdout stays the program's
// answer.
//
//   if (absl::Status bad = SetUpLogging({.level = "debug", .program = "vof-target"}); !bad.ok())
//   ... spdlog::info("listening on {}", address);
//
// Call it once, early in main(), before other threads start. Libraries under core/ do not log: they
// return errors and call back.
#ifndef VOF_TOOLS_COMMON_LOGGING_H_
#define VOF_TOOLS_COMMON_LOGGING_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace vof {

struct LoggingOptions {
  std::string level = "info";  // trace, debug, info, warn, error, off
  std::string program;         // printed in every line; empty: not printed
};

// The levels that SetUpLogging knows, for messages and help: "trace, debug, info, warn, error,
// off".
std::string_view KnownLogLevels();

// kInvalidArgument, listing the known ones, when `level` is none of them.
absl::Status CheckLogLevel(std::string_view level);

// Makes spdlog's default logger write to stderr, unbuffered, with a time and a level. Times are
// local with the offset to UTC. A line never waits for whoever reads stderr: it is dropped when it
// cannot be written at once, and the next one that can is preceded by a line that tells how many
// were. The error is CheckLogLevel's; nothing changes then.
absl::Status SetUpLogging(const LoggingOptions& options);

// Writes "PROGRAM: error: MESSAGE" to stderr, the lines with which a failing program ends; not
// subject to the log level. Each stays one line that cannot steer a terminal: what a configuration
// or a command line put into it is escaped (Printable). Of very many, or of a very long one, as
// much as a person can use: the first 100, and about 1000 bytes of each. Waits a second at most for
// a reader of stderr that takes nothing.
void PrintErrors(std::string_view program, const std::vector<std::string>& messages);
void PrintError(std::string_view program, std::string_view message);

}  // namespace vof

#endif  // VOF_TOOLS_COMMON_LOGGING_H_
