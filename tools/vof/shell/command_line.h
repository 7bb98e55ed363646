// SPDX-License-Identifier: Apache-2.0
//
// From the words of a command line to the verb they name, with its flags set.
//
//   CommonFlags flags;
//   const CommandLine line = ParseCommandLine(help, verbs, &flags, argc, argv);
//   if (line.ok()) line.verb->run(&context);
//
// The one place that knows the library which parses; nothing of it shows. One thread.
#ifndef VOF_TOOLS_VOF_SHELL_COMMAND_LINE_H_
#define VOF_TOOLS_VOF_SHELL_COMMAND_LINE_H_

#include <span>
#include <string>

#include "absl/status/status.h"
#include "tools/vof/shell/common_flags.h"
#include "tools/vof/shell/verb.h"

namespace vof {

struct ProgramHelp {
  std::string name;
  std::string version;
  std::string description;
  std::string footer;  // behind the list of verbs
};

struct CommandLine {
  const Verb* verb = nullptr;  // the one that was named, also when its flags are wrong
  // kInvalidArgument: wrong usage; says where the help is.
  absl::Status status;
  // Help or version, when that was asked for: print it, run nothing. `answer_kind` is "help" or
  // "version".
  std::string answer;
  std::string answer_kind;

  bool ok() const { return status.ok() && answer_kind.empty(); }
};

// Sets the flags of the verb and `common`. When the command line is wrong, `common->json` still
// says whether JSON was asked for.
CommandLine ParseCommandLine(const ProgramHelp& help, std::span<const Verb> verbs,
                             CommonFlags* common, int argc, const char* const* argv);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_SHELL_COMMAND_LINE_H_
