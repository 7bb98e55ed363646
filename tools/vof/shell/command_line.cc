// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/shell/command_line.h"

#include <CLI/CLI.hpp>
#include <sstream>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace vof {
namespace {

// Before the command line is understood: its errors are to be JSON, too.
bool AsksForJson(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--") return false;
    if (argument == "--json" || argument.substr(0, 7) == "--json=") return true;
  }
  return false;
}

void AddFlag(const Flag& flag, CLI::App* parser) {
  if (flag.on != nullptr) {
    parser->add_flag(flag.names, *flag.on, flag.help);
    return;
  }
  const auto set = [&flag](const std::string& text) {
    const absl::Status status = flag.set(text);
    // Errors of the parser are exceptions; this is where ours become one.
    if (!status.ok()) throw CLI::ValidationError(flag.names, std::string(status.message()));
  };
  parser->add_option_function<std::string>(flag.names, set, flag.help)
      ->type_name(flag.value_name)
      ->required(flag.required);
}

void AddVerb(const Verb& verb, const std::vector<Flag>& common, CLI::App* parser) {
  CLI::App* verb_parser = parser->add_subcommand(verb.name, verb.summary);
  // Details in the footer: the list of verbs shows descriptions in full.
  const std::string details = verb.details.empty() ? "" : "\n" + verb.details + "\n";
  verb_parser->footer(details + "\nExamples:\n" + verb.examples);
  for (const Flag& flag : common) AddFlag(flag, verb_parser);
  for (const Flag& flag : verb.flags) AddFlag(flag, verb_parser);
}

const Verb* GivenVerb(const CLI::App& parser, std::span<const Verb> verbs) {
  const std::vector<CLI::App*> given = parser.get_subcommands();
  for (const Verb& verb : verbs) {
    if (!given.empty() && given.front()->get_name() == verb.name) return &verb;
  }
  return nullptr;
}

std::string NamesOf(std::span<const Verb> verbs) {
  return absl::StrJoin(verbs, ", ",
                       [](std::string* out, const Verb& verb) { absl::StrAppend(out, verb.name); });
}

std::vector<std::string> UnknownFlags(const CLI::App& parser) {
  std::vector<std::string> flags;
  for (const std::string& word : parser.remaining()) {
    if (absl::StartsWith(word, "-")) flags.push_back(word);
  }
  return flags;
}

// A flag that does not exist says more than the argument that is missing beside it.
std::string MessageOf(const CLI::App& parser, const CLI::ParseError& error, const Verb* verb,
                      std::span<const Verb> verbs) {
  if (verb == nullptr) {
    for (const std::string& word : parser.remaining()) {
      if (!absl::StartsWith(word, "-")) {
        return absl::StrCat("there is no verb ", word, "; the verbs are ", NamesOf(verbs));
      }
    }
    return absl::StrCat("name a verb: ", NamesOf(verbs));
  }
  const std::vector<std::string> early = UnknownFlags(parser);
  if (!early.empty()) {
    return absl::StrCat("flags come behind the verb: ", verb->name, " ", absl::StrJoin(early, " "));
  }
  const std::vector<std::string> unknown = UnknownFlags(*parser.get_subcommands().front());
  if (!unknown.empty()) return absl::StrCat("there is no flag ", absl::StrJoin(unknown, " "));
  // The parser would list them from the last to the first.
  std::vector<std::string> surplus = parser.remaining(/*recurse=*/true);
  std::erase(surplus, "--");
  if (surplus.empty()) return error.what();
  return absl::StrCat(
      surplus.size() == 1 ? "one argument" : absl::StrCat(surplus.size(), " arguments"),
      " too many: ", absl::StrJoin(surplus, " "));
}

// Help and version are answers, everything else is wrong usage.
void Explain(const CLI::App& parser, const CLI::ParseError& error, const ProgramHelp& help,
             std::span<const Verb> verbs, CommandLine* line) {
  if (error.get_exit_code() == 0) {
    std::ostringstream out, unused;
    parser.exit(error, out, unused);
    line->answer = out.str();
    while (absl::EndsWith(line->answer, "\n")) line->answer.pop_back();
    line->answer_kind = dynamic_cast<const CLI::CallForVersion*>(&error) ? "version" : "help";
    return;
  }
  line->status = absl::InvalidArgumentError(
      absl::StrCat(MessageOf(parser, error, line->verb, verbs), " (see ", help.name, " ",
                   line->verb == nullptr ? "" : absl::StrCat(line->verb->name, " "), "--help)"));
}

}  // namespace

CommandLine ParseCommandLine(const ProgramHelp& help, std::span<const Verb> verbs,
                             CommonFlags* common, int argc, const char* const* argv) {
  CLI::App parser(help.description, help.name);
  parser.set_version_flag("--version", absl::StrCat(help.name, " ", help.version));
  parser.footer(help.footer);
  parser.require_subcommand(1);
  const std::vector<Flag> common_flags = CommonFlagsInto(common);
  for (const Verb& verb : verbs) AddVerb(verb, common_flags, &parser);
  CommandLine line;
  try {
    parser.parse(argc, argv);
    line.verb = GivenVerb(parser, verbs);
  } catch (const CLI::ParseError& error) {
    common->json = AsksForJson(argc, argv);
    line.verb = GivenVerb(parser, verbs);
    Explain(parser, error, help, verbs, &line);
  }
  return line;
}

}  // namespace vof
