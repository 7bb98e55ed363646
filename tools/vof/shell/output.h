// SPDX-License-Identifier: Apache-2.0
//
// What a verb says: its one result, as text or as JSON, and the error it ends with.
//
//   Output output("info", {.json = true});
//   absl::Status shown = output.Result({{"capacity_bytes", 1048576}}, "capacity   1 MiB\n");
//   return output.Finish(status);           // the exit code
//
// Text may hold what a target or a file is called: whatever a terminal would act on is written as
// an escape, except the ends of the lines of a result. A name within a result is quoted by who puts
// it there (core/base/quoted.h), or it could end a line.
//
// With JSON, standard output holds exactly one document, written by Finish: the result if there is
// one, a member "notes" if there are any, and a member "error" if it failed. A verb that failed may
// have a result: data that differ, a benchmark with errors, how far a copy came.
//
// One thread, the verb's; another one may call FinishInstead().
#ifndef VOF_TOOLS_VOF_SHELL_OUTPUT_H_
#define VOF_TOOLS_VOF_SHELL_OUTPUT_H_

#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
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

  // The result of the verb; once. Text is printed now and ends its lines; kCancelled
  // (IsReaderGone): nobody reads standard output.
  absl::Status Result(const Json& json, std::string_view text);
  // What FinishInstead() tells when there is no result by then; the last one counts.
  void ResultSoFar(const Json& json, std::string_view text);
  // A line of text now, before the result; nothing with JSON or when quiet.
  absl::Status Line(std::string_view line);
  // A remark, on standard error at once, or in the member "notes" of JSON; nothing when quiet.
  void Note(std::string_view note);

  // Prints what is left to print, `status` included if it is an error, and returns the exit code of
  // the program. That nobody reads any more is told to nobody.
  ExitCode Finish(const absl::Status& status);
  // Of a thread that ends the program while the verb still runs: as Finish(), which then never
  // returns to the verb, so that nothing is printed twice. Nothing when the verb was first. Tells
  // the result so far, if there is one.
  std::optional<ExitCode> FinishInstead(const absl::Status& status);

 private:
  std::string Prefix() const;  // "vof info"
  void PrintStatus(const absl::Status& status) const;
  void TellResultSoFar();
  Json TakeDocument();  // null: nothing to say
  ExitCode Print(const absl::Status& status);

  const std::string verb_;
  const OutputOptions options_;
  std::atomic<bool> finished_ = false;
  std::mutex mutex_;
  Json result_;  // null: none
  Json result_so_far_;
  std::string text_so_far_;
  Json notes_;  // null: none
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
// Writes all of it, or ReaderGoneError.
absl::Status WriteToStdout(std::string_view text);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_SHELL_OUTPUT_H_
