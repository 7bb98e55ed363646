// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/shell/verb.h"

#include <utility>

namespace vof {

CLI::App* VerbSet::Add(const VerbHelp& help, VerbAction action) {
  CLI::App* verb = app_->add_subcommand(help.name, help.summary);
  // Details in the footer: the list of verbs shows descriptions in full.
  const std::string details = help.details.empty() ? "" : "\n" + help.details + "\n";
  verb->footer(details + "\nExamples:\n" + help.examples);
  AddCommonFlags(verb, flags_);
  verb->callback([this, name = help.name, action = std::move(action)] {
    chosen_name_ = name;
    chosen_action_ = action;
  });
  return verb;
}

}  // namespace vof
