// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/time.h"
#include "core/engine/initiator_status.h"
#include "tools/common/size.h"
#include "tools/vof/device/device_endpoint.h"
#include "tools/vof/device/open_device.h"
#include "tools/vof/shell/interrupt.h"
#include "tools/vof/shell/progress.h"
#include "tools/vof/transfer/workers.h"
#include "tools/vof/verbs/transfer_verb.h"
#include "tools/vof/verbs/verbs.h"

namespace vof {
namespace {

// Of any block size a multiple. Devices do as much in milliseconds, unless they have to store
// zeros.
constexpr uint64_t kPieceBytes = 256u << 20;

struct DiscardOptions {
  std::string uri;
  uint64_t offset_bytes = 0;
  std::optional<uint64_t> size_bytes;
  bool all = false;
  bool zero = false;
};

// One of --length and --all.
absl::Status CheckExtent(const DiscardOptions& options) {
  if (options.all && options.size_bytes) {
    return absl::InvalidArgumentError(
        "--length and --all contradict each other: give one of them, not both");
  }
  if (options.all || options.size_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "say what to discard: --length SIZE, or --all for all from the offset on");
}

// The number of bytes to discard.
absl::StatusOr<uint64_t> SizeToDiscard(const DiscardOptions& options, const BlkInfo& info) {
  if (options.offset_bytes > info.capacity_bytes ||
      options.size_bytes.value_or(0) > info.capacity_bytes - options.offset_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("the range goes beyond the end of ", options.uri,
                                                   ", which has ", info.capacity_bytes, " bytes (",
                                                   HumanSize(info.capacity_bytes), ")"));
  }
  const uint64_t size_bytes =
      options.size_bytes.value_or(info.capacity_bytes - options.offset_bytes);
  if (options.offset_bytes % info.block_bytes != 0 || size_bytes % info.block_bytes != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "offset ", options.offset_bytes, " and length ", size_bytes,
        " must be multiples of the block size of ", options.uri, ", ", info.block_bytes, " bytes"));
  }
  return size_bytes;
}

absl::Status DiscardPiece(const DiscardOptions& options, uint64_t offset_bytes, uint64_t size_bytes,
                          BlkClient* disk) {
  return options.zero
             ? disk->WriteZeroes(offset_bytes, size_bytes, disk->info().write_zeroes_may_unmap)
             : disk->Discard(offset_bytes, size_bytes);
}

// Between two pieces it can be stopped.
absl::Status DiscardPieces(const DiscardOptions& options, uint64_t size_bytes, BlkClient* disk,
                           VerbContext* context, uint64_t* done_bytes) {
  std::atomic<uint64_t> done = 0;
  std::atomic<bool> stop = false;
  const auto work = [&]() -> absl::Status {
    while (done < size_bytes && !stop) {
      const uint64_t piece_bytes = std::min(size_bytes - done, kPieceBytes);
      const absl::Status discarded =
          DiscardPiece(options, options.offset_bytes + done, piece_bytes, disk);
      if (!discarded.ok()) return discarded;
      done += piece_bytes;
    }
    return absl::OkStatus();
  };
  const InterruptWatch interrupt(&context->interrupts);
  ProgressLine progress(!context->output.json() && !context->output.quiet());
  const MonotonicTime started = MonotonicNow();
  const auto tick = [&] {
    progress.Show(FormatTransferProgress(done, size_bytes, MonotonicNow() - started));
    return !interrupt.requested();
  };
  const absl::Status worked = RunWorkers(
      1, work,
      {.stop = [&] { stop = true; },
       .tick = tick,
       .on_slow_stop =
           [&](int num_pieces) { NoteSlowStop(num_pieces, &progress, &context->output); }});
  *done_bytes = done;
  return worked;
}

Json ToJson(const DiscardOptions& options, uint64_t done_bytes) {
  Json json;
  json["uri"] = options.uri;
  json["offset"] = options.offset_bytes;
  json["bytes"] = done_bytes;
  json["zeroed"] = options.zero;
  return json;
}

absl::Status Discard(const DiscardOptions& options, VerbContext* context) {
  if (const absl::Status said = CheckExtent(options); !said.ok()) return said;
  const auto disk = OpenBlk(options.uri, context);
  if (!disk.ok()) return disk.status();
  const BlkInfo info = (*disk)->info();
  if (info.read_only) return ReadOnlyError(options.uri);
  const absl::StatusOr<uint64_t> size_bytes = SizeToDiscard(options, info);
  if (!size_bytes.ok()) return size_bytes.status();

  const std::string_view done_word = options.zero ? "zeroed" : "discarded";
  uint64_t done_bytes = 0;
  absl::Status done = DiscardPieces(options, *size_bytes, disk->get(), context, &done_bytes);
  if (done.ok()) done = (*disk)->Flush();
  const std::string result =
      absl::StrCat(std::string(done_word), " ", done_bytes, " bytes (", HumanSize(done_bytes), ")");
  const absl::Status printed =
      context->output.Result(ToJson(options, done_bytes), done.ok() ? result + "\n" : "");
  if (done.ok()) return printed;
  return done_bytes == 0 ? done : WithHint(result + ", from the offset on", done);
}

}  // namespace

Verb DiscardVerb() {
  auto options = std::make_shared<DiscardOptions>();
  return {.name = "discard",
          .summary = "Tells a device that a range is no longer needed. Its data are lost.",
          .details =
              "What a discarded range reads as is the device's choice; --zero makes it zeros,\n"
              "without storing them where the device can do that.",
          .examples =
              "  vof discard --offset 1G --length 512M tcp://storage/disk0\n"
              "  vof discard --zero --all tcp://storage/disk0",
          .flags = {Argument("URI", &options->uri, "the device"),
                    SizeFlag("--offset", &options->offset_bytes, "where to begin (default: 0)"),
                    SizeFlag("--length", &options->size_bytes, "bytes to discard"),
                    Switch("--all", &options->all, "everything from the offset on"),
                    Switch("--zero", &options->zero, "write zeroes instead")},
          .run = [options](VerbContext* context) { return Discard(*options, context); }};
}

}  // namespace vof
