// SPDX-License-Identifier: Apache-2.0
//
// A verb of the program as data: name, help, an example, flags, and what it does.
//
//   Verb FlushVerb() {
//     auto uri = std::make_shared<std::string>();
//     return {.name = "flush",
//             .summary = "Makes everything that was written to a device durable.",
//             .details = "",
//             .examples = "  vof flush tcp://storage/disk0",
//             .flags = {Argument("URI", uri.get(), "the device")},
//             .run = [uri](VerbContext* context) { return Flush(*uri, context); }};
//   }
//
// The action owns what the flags write to. One thread.
#ifndef VOF_TOOLS_VOF_SHELL_VERB_H_
#define VOF_TOOLS_VOF_SHELL_VERB_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/vof/shell/common_flags.h"
#include "tools/vof/shell/flag.h"
#include "tools/vof/shell/output.h"

namespace vof {

class BackendRegistry;
class Interrupts;

// What an action may use.
struct VerbContext {
  const CommonFlags& flags;
  Output& output;
  BackendRegistry& backends;
  Interrupts& interrupts;
};

struct Verb {
  std::string name;
  std::string summary;      // one sentence
  std::string details;      // paragraphs behind it; may be empty
  std::string examples;     // lines, as one would type them
  std::vector<Flag> flags;  // besides the common ones
  std::function<absl::Status(VerbContext*)> run;
};

}  // namespace vof

#endif  // VOF_TOOLS_VOF_SHELL_VERB_H_
