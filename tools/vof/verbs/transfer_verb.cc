// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/verbs/transfer_verb.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/common/duration.h"
#include "tools/common/size.h"
#include "tools/vof/device/device_endpoint.h"
#include "tools/vof/device/open_device.h"
#include "tools/vof/shell/interrupt.h"
#include "tools/vof/shell/progress.h"

namespace vof {
namespace {

Json ToJson(const TransferJob& job, const TransferSummary& summary) {
  const double seconds =
      static_cast<double>(summary.elapsed) / static_cast<double>(kNanosecondsPerSecond);
  Json json;
  json["source"] = job.source.text;
  json["destination"] = job.destination.text;
  json["bytes"] = summary.counts.bytes;
  json["prefix_bytes"] = summary.counts.prefix_bytes;
  json["zero_bytes"] = summary.counts.zero_bytes;
  json["elapsed_s"] = seconds;
  json["bytes_per_s"] = seconds > 0 ? static_cast<double>(summary.counts.bytes) / seconds : 0.0;
  return json;
}

std::string ToText(std::string_view done_word, const TransferSummary& summary) {
  std::string text = absl::StrCat(std::string(done_word), " ", HumanSize(summary.counts.bytes),
                                  " in ", HumanDuration(summary.elapsed), ", ",
                                  FormatRate(summary.counts.bytes, summary.elapsed));
  if (summary.counts.zero_bytes > 0) {
    absl::StrAppend(&text, "; ", HumanSize(summary.counts.zero_bytes), " of zeros not stored");
  }
  return text + "\n";
}

}  // namespace

DeviceOpener OpenerFor(VerbContext* context) {
  return [context](const std::string& uri,
                   OpenMode mode) -> absl::StatusOr<std::unique_ptr<Endpoint>> {
    absl::StatusOr<std::unique_ptr<BlkClient>> client = OpenBlk(uri, context);
    if (!client.ok()) return client.status();
    return DeviceEndpoint::Make(uri, *std::move(client), mode);
  };
}

void NoteSlowStop(std::string_view what, uint64_t count, Output* output) {
  output->Note(absl::StrCat("interrupted, waiting for the answers to ", count, " ",
                            std::string(what), count == 1 ? "" : "s", "; once more ends at once"));
}

void NoteSlowStop(int num_pieces, ProgressLine* progress, Output* output) {
  progress->Clear();
  NoteSlowStop("piece", static_cast<uint64_t>(num_pieces), output);
}

absl::Status RunTransferVerb(std::string_view done_word, const TransferJob& job,
                             VerbContext* context) {
  Output& output = context->output;
  const bool to_stdout = job.destination.kind == LocationKind::kStandard;
  if (to_stdout && output.json()) {
    return absl::InvalidArgumentError(
        "--json and the data cannot both go to standard output: name a file for the data");
  }
  // Until both sides are open, an interrupt ends the program at once: nothing is half done then.
  std::unique_ptr<InterruptWatch> interrupt;
  const DeviceOpener open_device = OpenerFor(context);
  ProgressLine progress(!output.json() && !output.quiet());
  const auto tick = [&](uint64_t done, uint64_t total, Nanoseconds elapsed) {
    if (interrupt->requested()) return false;
    progress.Show(FormatTransferProgress(done, total, elapsed));
    return true;
  };
  TransferSummary summary;
  const absl::Status moved = RunTransferJob(
      job,
      {.open_device = open_device,
       .on_open = [&] { interrupt = std::make_unique<InterruptWatch>(&context->interrupts); },
       .tick = tick,
       .on_slow_stop =
           [&](int num_pieces, bool waits_for_reader) {
             if (!waits_for_reader) return NoteSlowStop(num_pieces, &progress, &output);
             progress.Clear();
             output.Note(absl::StrCat("interrupted, waiting for the reader of ",
                                      to_stdout ? "standard output" : job.destination.text,
                                      "; once more ends at once"));
           }},
      &summary);
  progress.Clear();
  if (to_stdout) return moved;
  if (!moved.ok()) {
    // Bytes have moved: how far it came is a result, too.
    if (interrupt != nullptr) (void)output.Result(ToJson(job, summary), "");
    return moved;
  }
  return output.Result(ToJson(job, summary), ToText(done_word, summary));
}

}  // namespace vof
