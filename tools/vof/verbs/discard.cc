// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "tools/common/size.h"
#include "tools/vof/device/device_endpoint.h"
#include "tools/vof/device/open_device.h"
#include "tools/vof/verbs/verbs.h"

namespace vof {
namespace {

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

absl::Status Discard(const DiscardOptions& options, VerbContext* context) {
  if (const absl::Status said = CheckExtent(options); !said.ok()) return said;
  const auto disk = OpenBlk(options.uri, context);
  if (!disk.ok()) return disk.status();
  const BlkInfo info = (*disk)->info();
  if (info.read_only) return ReadOnlyError(options.uri);
  const absl::StatusOr<uint64_t> size_bytes = SizeToDiscard(options, info);
  if (!size_bytes.ok()) return size_bytes.status();

  const absl::Status done = options.zero ? (*disk)->WriteZeroes(options.offset_bytes, *size_bytes,
                                                                info.write_zeroes_may_unmap)
                                         : (*disk)->Discard(options.offset_bytes, *size_bytes);
  if (!done.ok()) return done;
  if (const absl::Status flushed = (*disk)->Flush(); !flushed.ok()) return flushed;
  Json json;
  json["uri"] = options.uri;
  json["offset"] = options.offset_bytes;
  json["bytes"] = *size_bytes;
  json["zeroed"] = options.zero;
  return context->output.Result(
      json, absl::StrCat(options.zero ? "zeroed " : "discarded ", *size_bytes, " bytes (",
                         HumanSize(*size_bytes), ")\n"));
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
