// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/shell/common_flags.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tools/common/duration.h"

namespace vof {
namespace {

// What a time-out may be; the help says it, too.
std::string TimeoutForm() {
  return absl::StrCat("from ", FormatDuration(kConnectTimeoutRange.shortest), " to ",
                      FormatDuration(kConnectTimeoutRange.longest),
                      ", or 0 for no limit of answers");
}

absl::Status SetTimeout(const std::string& text, CommonFlags* values) {
  const absl::StatusOr<Nanoseconds> timeout = ParseDuration(text);
  if (!timeout.ok()) return timeout.status();
  const bool in_range =
      *timeout >= kConnectTimeoutRange.shortest && *timeout <= kConnectTimeoutRange.longest;
  if (*timeout != 0 && !in_range) {
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is not ", TimeoutForm()));
  }
  values->timeout = *timeout;
  return absl::OkStatus();
}

absl::Status SetDialect(const std::string& text, CommonFlags* values) {
  UriOptions options;
  const absl::Status set = SetUriOption("dialect", text, &options);
  if (set.ok()) values->dialect = options.dialect;
  return set;
}

absl::Status SetInitiatorName(const std::string& text, CommonFlags* values) {
  UriOptions options;
  const absl::Status set = SetUriOption("ivqn", text, &options);
  if (set.ok()) values->initiator_name = text;
  return set;
}

}  // namespace

std::vector<Flag> CommonFlagsInto(CommonFlags* values) {
  return {
      Switch("--json", &values->json,
             "print one JSON document on standard output, errors included"),
      Switch("--quiet,-q", &values->quiet, "print errors only"),
      {.names = "--ivqn",
       .value_name = "NAME",
       .help = "the name to connect as (URI key ivqn)",
       .set = [values](const std::string& text) { return SetInitiatorName(text, values); }},
      {.names = "--timeout",
       .value_name = "DURATION",
       .help = absl::StrCat("how long to wait for a connection and for an answer, ", TimeoutForm(),
                            " (URI keys connect_timeout, which 0 leaves alone, and io_timeout)"),
       .set = [values](const std::string& text) { return SetTimeout(text, values); }},
      {.names = "--dialect",
       .value_name = "v5|ref",
       .help = "what to speak: v5, the native one, or ref, that of the reference target (URI key "
               "dialect)",
       .set = [values](const std::string& text) { return SetDialect(text, values); }},
  };
}

absl::Status ApplyTo(const CommonFlags& flags, UriOptions* options) {
  if (flags.initiator_name) options->initiator_name = *flags.initiator_name;
  if (flags.dialect) options->dialect = *flags.dialect;
  if (flags.timeout) options->io_timeout = *flags.timeout;
  if (flags.timeout.value_or(0) != 0) options->connect_timeout = *flags.timeout;
  return CheckUriOptions(*options);
}

}  // namespace vof
