// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/program.h"

#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "core/runtime/uri.h"
#include "tools/common/exit_code.h"
#include "tools/common/size.h"
#include "tools/common/standard_descriptors.h"
#include "tools/common/version.h"
#include "tools/common/write_signals.h"
#include "tools/vof/shell/command_line.h"
#include "tools/vof/shell/interrupt.h"
#include "tools/vof/shell/output.h"
#include "tools/vof/shell/verb.h"
#include "tools/vof/verbs/verbs.h"

namespace vof {
namespace {

constexpr const char* kDescription =
    "Uses virtio devices that a vof-target serves, by their URIs:\n"
    "tcp://HOST[:PORT]/NAME[?key=value...]. Where a verb takes a file, - is standard input or\n"
    "output, but for verify, which reads in any order.";

constexpr const char* kFooter =
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 cannot connect, 4 refused by the target,\n"
    "5 timed out, 6 data differ, 7 not supported by the device.\n"
    "\n"
    "Examples:\n"
    "  vof info tcp://storage:8549/disk0\n"
    "  vof copy --json image.raw tcp://storage/disk0\n"
    "  vof VERB --help";

std::string Footer(const BackendRegistry& backends) {
  std::string footer = "\nURI keys, as in tcp://storage/disk0?queues=4&io_timeout=1m:\n";
  for (const UriKeyHelp& key : DescribeUriKeys()) {
    if (!key.scheme.empty() && !backends.Find(key.scheme).ok()) continue;
    absl::StrAppendFormat(&footer, "  %-16s%s%s\n  %16s%s (default: %s)\n", key.name,
                          key.scheme.empty() ? "" : key.scheme + "://: ", key.meaning, "",
                          key.allowed, key.default_value);
  }
  absl::StrAppendFormat(&footer, "\nA size is %s;\ntimes are 500us, 20ms, 10s.\n\n", kSizeForm);
  return footer + kFooter;
}

ExitCode RunVerb(const Verb& verb, const CommonFlags& flags, BackendRegistry* backends,
                 Output* output) {
  Interrupts interrupts([output] {
    const auto code = output->FinishInstead(absl::CancelledError("interrupted"));
    // No destructor waits for a target now.
    if (code.has_value()) _exit(ToInt(*code));
  });
  VerbContext context{
      .flags = flags, .output = *output, .backends = *backends, .interrupts = interrupts};
  return output->Finish(verb.run(&context));
}

}  // namespace

int RunProgram(int argc, const char* const* argv, BackendRegistry& backends) {
  const absl::Status open = OpenStandardDescriptors(ClosedDescriptors::kFail);
  if (!open.ok()) {
    return ToInt(Output("", {}).Finish(open));
  }
  LetWritesFail();

  const std::vector<Verb> verbs = AllVerbs();
  CommonFlags flags;
  const CommandLine line = ParseCommandLine(
      {.name = "vof", .version = kVersion, .description = kDescription, .footer = Footer(backends)},
      verbs, &flags, argc, argv);
  Output output(line.verb == nullptr ? "" : line.verb->name,
                {.json = flags.json, .quiet = flags.quiet});
  if (!line.status.ok()) return ToInt(output.Finish(line.status));
  if (!line.ok()) {
    return ToInt(
        output.Finish(output.Result({{line.answer_kind, line.answer}}, line.answer + "\n")));
  }
  return ToInt(RunVerb(*line.verb, flags, &backends, &output));
}

}  // namespace vof
