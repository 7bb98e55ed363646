// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/shell/common_flags.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tools/common/duration.h"
#include "tools/common/size.h"

namespace vof {
namespace {

// The value, or the parser's kind of error: this is the one place where it is thrown.
template <typename Value>
Value OrThrow(const absl::StatusOr<Value>& value, const std::string& names) {
  if (!value.ok()) throw CLI::ValidationError(names, std::string(value.status().message()));
  return *value;
}

absl::StatusOr<Dialect> ParseDialect(const std::string& text) {
  if (text == "v5") return Dialect::kV5;
  if (text == "ref") return Dialect::kRef;
  return absl::InvalidArgumentError(
      absl::StrCat("there is no dialect \"", text, "\"; the known ones are v5, ref"));
}

}  // namespace

void AddCommonFlags(CLI::App* verb, CommonFlags* flags) {
  verb->add_flag("--json", flags->json,
                 "print one JSON document on standard output, errors included");
  verb->add_flag("--quiet,-q", flags->quiet, "print errors only");
  verb->add_option_function<std::string>(
          "--ivqn", [flags](const std::string& name) { flags->initiator_name = name; },
          "the name to connect as (URI key ivqn)")
      ->type_name("NAME");
  verb->add_option_function<std::string>(
          "--timeout",
          [flags](const std::string& text) {
            flags->timeout = OrThrow(ParseDuration(text), "--timeout");
            if (*flags->timeout == 0) throw CLI::ValidationError("--timeout", "0 leaves no time");
          },
          "how long to wait for a connection and for an answer, as 500ms or 10s (URI keys "
          "connect_timeout and io_timeout)")
      ->type_name("DURATION");
  verb->add_option_function<std::string>(
          "--dialect",
          [flags](const std::string& text) {
            flags->dialect = OrThrow(ParseDialect(text), "--dialect");
          },
          "what to speak: v5, the native one, or ref, that of the reference target (URI key "
          "dialect)")
      ->type_name("v5|ref");
}

void ApplyTo(const CommonFlags& flags, UriOptions* options) {
  if (flags.initiator_name) options->initiator_name = *flags.initiator_name;
  if (flags.dialect) options->dialect = *flags.dialect;
  if (flags.timeout) options->connect_timeout = options->io_timeout = *flags.timeout;
}

CLI::Option* AddSizeFlag(CLI::App* verb, const std::string& names, uint64_t* value,
                         const std::string& help) {
  return verb
      ->add_option_function<std::string>(
          names,
          [names, value](const std::string& text) { *value = OrThrow(ParseSize(text), names); },
          help)
      ->type_name("SIZE");
}

CLI::Option* AddSizeFlag(CLI::App* verb, const std::string& names, std::optional<uint64_t>* value,
                         const std::string& help) {
  return verb
      ->add_option_function<std::string>(
          names,
          [names, value](const std::string& text) { *value = OrThrow(ParseSize(text), names); },
          help)
      ->type_name("SIZE");
}

CLI::Option* AddDurationFlag(CLI::App* verb, const std::string& names, Nanoseconds* value,
                             const std::string& help) {
  return verb
      ->add_option_function<std::string>(
          names,
          [names, value](const std::string& text) { *value = OrThrow(ParseDuration(text), names); },
          help)
      ->type_name("DURATION");
}

CLI::Option* AddCountFlag(CLI::App* verb, const std::string& names, const CountRange& range,
                          uint64_t* value, const std::string& help) {
  const auto parse = [names, range, value](const std::string& text) {
    if (absl::SimpleAtoi(text, value) && *value >= range.smallest && *value <= range.largest) {
      return;
    }
    throw CLI::ValidationError(names, absl::StrCat("\"", text, "\" is not a whole number from ",
                                                   range.smallest, " to ", range.largest));
  };
  return verb->add_option_function<std::string>(names, parse, help)->type_name("N");
}

}  // namespace vof
