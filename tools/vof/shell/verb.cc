// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/shell/verb.h"

#include <utility>

namespace vof {

CLI::App* VerbSet::Add(const VerbHelp& help, VerbAction action) {
  std::string description = help.summary;
  if (!help.details.empty()) description += "\n\n" + help.details;
  CLI::App* verb = app_->add_subcommand(help.name, description);
  verb->footer("\nExamples:\n" + help.examples);
  AddCommonFlags(verb, flags_);
  verb->callback([this, name = help.name, action = std::move(action)] {
    chosen_name_ = name;
    chosen_action_ = action;
  });
  return verb;
}

}  // namespace vof
