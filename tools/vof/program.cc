// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/program.h"

#include <signal.h>

#include <CLI/CLI.hpp>
#include <sstream>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "tools/common/exit_code.h"
#include "tools/common/version.h"
#include "tools/vof/shell/output.h"
#include "tools/vof/shell/verb.h"
#include "tools/vof/verbs/verbs.h"

namespace vof {
namespace {

constexpr const char* kDescription =
    "Uses virtio devices that a vof-target serves, by their URIs:\n"
    "tcp://HOST[:PORT]/NAME[?key=value...]. Where a verb takes a file, - is standard input or\n"
    "output.";

constexpr const char* kFooter =
    "\nSizes are bytes, or a number with K, M, G or T (powers of 1024); times are 500us, 20ms, "
    "10s.\n"
    "URI keys: ivqn, queues, queue_size, dialect, connect_timeout, io_timeout, keepalive.\n"
    "\n"
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 cannot connect, 4 refused by the target,\n"
    "5 timed out, 6 data differ, 7 not supported by the device.\n"
    "\n"
    "Examples:\n"
    "  vof info tcp://storage:8549/disk0\n"
    "  vof copy --json image.raw tcp://storage/disk0\n"
    "  vof VERB --help";

// Before the command line is understood: errors of parsing follow it, too.
bool AsksForJson(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--") return false;
    if (argument == "--json") return true;
  }
  return false;
}

std::string NameOfGivenVerb(const CLI::App& app) {
  const auto given = app.get_subcommands();
  return given.empty() ? "" : given.front()->get_name();
}

// Help and version are answers, everything else is wrong usage.
int EndAfterParseError(const CLI::App& app, const CLI::ParseError& error, bool json) {
  if (error.get_exit_code() == 0) {
    std::ostringstream out, unused;
    app.exit(error, out, unused);
    return WriteToStdout(out.str()).ok() ? 0 : ToInt(ExitCode::kFailed);
  }
  const std::string verb = NameOfGivenVerb(app);
  Output output(verb, {.json = json});
  const std::string help = absl::StrCat("vof", verb.empty() ? "" : " ", verb, " --help");
  return ToInt(
      output.Finish(absl::InvalidArgumentError(absl::StrCat(error.what(), " (see ", help, ")"))));
}

void AddVerbs(VerbSet* verbs) {
  AddInfoVerb(verbs);
  AddPingVerb(verbs);
  AddReadVerb(verbs);
  AddWriteVerb(verbs);
  AddCopyVerb(verbs);
  AddVerifyVerb(verbs);
  AddFlushVerb(verbs);
  AddDiscardVerb(verbs);
  AddBenchVerb(verbs);
}

}  // namespace

int RunProgram(int argc, const char* const* argv, BackendRegistry& backends) {
  // A reader that goes away is an error of write(), like any other.
  signal(SIGPIPE, SIG_IGN);

  CLI::App app(kDescription, "vof");
  app.set_version_flag("--version", absl::StrCat("vof ", kVersion));
  app.footer(kFooter);
  app.require_subcommand(1);
  CommonFlags flags;
  VerbSet verbs(&app, &flags);
  AddVerbs(&verbs);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return EndAfterParseError(app, error, AsksForJson(argc, argv));
  }

  Output output(verbs.chosen_name(), {.json = flags.json, .quiet = flags.quiet});
  VerbContext context{.flags = flags, .output = output, .backends = backends};
  return ToInt(output.Finish(verbs.chosen_action()(&context)));
}

}  // namespace vof
