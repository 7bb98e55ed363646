// SPDX-License-Identifier: Apache-2.0
//
// How a verb of the program declares itself: name, help, an example, flags, and what it does.
//
//   void AddFlushVerb(VerbSet* verbs) {
//     auto options = std::make_shared<FlushOptions>();
//     CLI::App* verb = verbs->Add({.name = "flush", .summary = "...", .examples = "..."},
//                                 [options](VerbContext* context) { return Flush(*options,
//                                 context); });
//     verb->add_option("URI", options->uri, "the device")->required();
//   }
//
// Parsing decides which action runs; the program runs it afterwards. One thread.
#ifndef VOF_TOOLS_VOF_SHELL_VERB_H_
#define VOF_TOOLS_VOF_SHELL_VERB_H_

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "tools/vof/shell/common_flags.h"
#include "tools/vof/shell/output.h"

namespace vof {

class BackendRegistry;

// What an action may use.
struct VerbContext {
  const CommonFlags& flags;
  Output& output;
  BackendRegistry& backends;
};

using VerbAction = std::function<absl::Status(VerbContext*)>;

struct VerbHelp {
  std::string name;
  std::string summary;   // one sentence
  std::string details;   // paragraphs behind it; may be empty
  std::string examples;  // lines, as one would type them
};

class VerbSet {
 public:
  // Both outlive the set.
  VerbSet(CLI::App* app, CommonFlags* flags) : app_(app), flags_(flags) {}

  // The returned parser takes the verb's own flags; the common ones are there.
  CLI::App* Add(const VerbHelp& help, VerbAction action);

  // Of the verb that was given on the command line; empty before parsing.
  const std::string& chosen_name() const { return chosen_name_; }
  const VerbAction& chosen_action() const { return chosen_action_; }

 private:
  CLI::App* const app_;
  CommonFlags* const flags_;
  std::string chosen_name_;
  VerbAction chosen_action_;
};

}  // namespace vof

#endif  // VOF_TOOLS_VOF_SHELL_VERB_H_
