// SPDX-License-Identifier: Apache-2.0
//
// What a verb says: its one result on standard output, as text or as JSON, and errors.
//
//   Output output("info", {.json = true});
//   output.Result({{"capacity_bytes", 1048576}}, "capacity   1 MiB\n");     // prints the one that
//   was asked for return output.Finish(status);                                            //
//   prints an error, gives the exit code
//
// With JSON, standard output holds exactly one document, be it a result or {"error": {...}}.
#ifndef VOF_TOOLS_VOF_SHELL_OUTPUT_H_
#define VOF_TOOLS_VOF_SHELL_OUTPUT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "tools/common/exit_code.h"

namespace vof {

// Members stay in the order in which they are added.
using Json = nlohmann::ordered_json;

struct OutputOptions {
  bool json = false;
  bool quiet = false;  // no result as text, no notes; errors all the same
};

class Output {
 public:
  Output(std::string verb, const OutputOptions& options)
      : verb_(std::move(verb)), options_(options) {}

  bool json() const { return options_.json; }
  bool quiet() const { return options_.quiet; }

  // Prints the result of the verb; once. `text` ends its lines. kCancelled: nobody reads standard
  // output.
  absl::Status Result(const Json& json, std::string_view text);
  // A line of text now, before the result; nothing with JSON or when quiet.
  absl::Status Line(std::string_view line);
  // A remark for people, on standard error; nothing with JSON or when quiet.
  void Note(std::string_view note);

  // Prints `status` if it is an error and returns the exit code of the program. An error that comes
  // after a JSON result goes to standard error.
  ExitCode Finish(const absl::Status& status);

 private:
  const std::string verb_;
  const OutputOptions options_;
  bool printed_json_ = false;
};

// Compared data differ: exit code 6. kDataLoss alone is a device that failed.
absl::Status DataDifferError(std::string_view message);

// By what the initiator says failed, else by the status' code.
ExitCode ExitCodeOfStatus(const absl::Status& status);
// "cannot-connect": the stable name of an exit code in JSON.
std::string_view ExitKind(ExitCode code);
// {"error": {"code": 3, "kind": "cannot-connect", "message": "..."}}
Json ErrorDocument(ExitCode code, std::string_view message);
// One line. Bytes that are no UTF-8 are replaced: names come from the other side.
std::string Serialize(const Json& json);
// Writes all of it, or kCancelled when the reader went away.
absl::Status WriteToStdout(std::string_view text);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_SHELL_OUTPUT_H_
