// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/shell/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "core/base/quoted.h"
#include "core/engine/initiator_status.h"
#include "tools/common/logging.h"
#include "tools/vof/transfer/reader_gone.h"
#include "tools/vof/transfer/unique_fd.h"

namespace vof {
namespace {

constexpr char kDataDifferUrl[] = "vof/data_differ";

// Each line of the text; their ends stay.
std::string PrintableLines(std::string_view text) {
  std::string lines;
  while (true) {
    const size_t end = text.find('\n');
    lines += Printable(text.substr(0, end));
    if (end == std::string_view::npos) return lines;
    lines += '\n';
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::string_view ExitKind(ExitCode code) {
  switch (code) {
    case ExitCode::kOk:
      return "ok";
    case ExitCode::kFailed:
      return "failed";
    case ExitCode::kUsage:
      return "usage";
    case ExitCode::kCannotConnect:
      return "cannot-connect";
    case ExitCode::kRefused:
      return "refused";
    case ExitCode::kTimeout:
      return "timeout";
    case ExitCode::kDataDiffer:
      return "data-differ";
    case ExitCode::kUnsupported:
      return "unsupported";
  }
  return "failed";
}

Json ErrorDocument(ExitCode code, std::string_view message) {
  Json error;
  error["code"] = ToInt(code);
  error["kind"] = std::string(ExitKind(code));
  error["message"] = std::string(message);
  Json document;
  document["error"] = std::move(error);
  return document;
}

std::string Serialize(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::Status WriteToStdout(std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = write(STDOUT_FILENO, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EPIPE) return ReaderGoneError("standard output");
    if (put < 0) return FileError("write", "standard output", errno);
    text.remove_prefix(static_cast<size_t>(put));
  }
  return absl::OkStatus();
}

absl::Status Output::Result(const Json& json, std::string_view text) {
  if (options_.json) {
    const std::lock_guard<std::mutex> lock(mutex_);
    result_ = json;
    return absl::OkStatus();
  }
  {
    // Not a second time.
    const std::lock_guard<std::mutex> lock(mutex_);
    text_so_far_.clear();
  }
  return options_.quiet ? absl::OkStatus() : WriteToStdout(PrintableLines(text));
}

void Output::ResultSoFar(const Json& json, std::string_view text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  result_so_far_ = json;
  text_so_far_ = PrintableLines(text);
}

absl::Status Output::Line(std::string_view line) {
  if (options_.json || options_.quiet) return absl::OkStatus();
  return WriteToStdout(Printable(line) + "\n");
}

void Output::Note(std::string_view note) {
  if (options_.quiet) return;
  if (options_.json) {
    const std::lock_guard<std::mutex> lock(mutex_);
    notes_.push_back(std::string(note));
    return;
  }
  std::fprintf(stderr, "vof %s: %s\n", verb_.c_str(), Printable(note).c_str());
}

absl::Status DataDifferError(std::string_view message) {
  absl::Status status = absl::DataLossError(std::string(message));
  status.SetPayload(kDataDifferUrl, absl::Cord());
  return status;
}

ExitCode ExitCodeOfStatus(const absl::Status& status) {
  switch (FailureKindOf(status)) {
    case FailureKind::kCannotConnect:
      return ExitCode::kCannotConnect;
    case FailureKind::kRefused:
      return ExitCode::kRefused;
    case FailureKind::kTimedOut:
      return ExitCode::kTimeout;
    case FailureKind::kUnsupported:
      return ExitCode::kUnsupported;
    case FailureKind::kProtocol:
    case FailureKind::kLost:
    case FailureKind::kClosed:
      return ExitCode::kFailed;
    case FailureKind::kNone:
      break;
  }
  if (absl::IsDataLoss(status)) {
    return status.GetPayload(kDataDifferUrl) ? ExitCode::kDataDiffer : ExitCode::kFailed;
  }
  return ExitCodeOf(status.code());
}

ExitCode Output::Finish(const absl::Status& status) {
  // The other thread is about to end the program.
  while (finished_.exchange(true)) pause();
  return Print(status);
}

std::optional<ExitCode> Output::FinishInstead(const absl::Status& status) {
  if (finished_.exchange(true)) return std::nullopt;
  TellResultSoFar();
  return Print(status);
}

void Output::TellResultSoFar() {
  std::string text;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (result_.is_null()) result_ = std::move(result_so_far_);
    text = std::move(text_so_far_);
  }
  // The error that follows says more than that nobody reads this.
  if (!options_.json && !options_.quiet) (void)WriteToStdout(text);
}

Json Output::TakeDocument() {
  const std::lock_guard<std::mutex> lock(mutex_);
  Json document = std::move(result_);
  if (!notes_.is_null()) document["notes"] = std::move(notes_);
  return document;
}

ExitCode Output::Print(const absl::Status& status) {
  const ExitCode code = ExitCodeOfStatus(status);
  if (options_.json) {
    Json document = TakeDocument();
    if (!status.ok()) document.update(ErrorDocument(code, std::string(status.message())));
    if (document.is_null()) return code;
    const absl::Status written = WriteToStdout(Serialize(document));
    if (written.ok()) return code;
    // Nobody is left to tell when this fails, too.
    if (!IsReaderGone(written)) PrintStatus(written);
    return status.ok() ? ExitCode::kFailed : code;
  }
  if (!status.ok() && !IsReaderGone(status)) PrintStatus(status);
  return code;
}

void Output::PrintStatus(const absl::Status& status) const {
  PrintError(Prefix(), std::string(status.message()));
}

std::string Output::Prefix() const { return absl::StrCat("vof", verb_.empty() ? "" : " ", verb_); }

}  // namespace vof
