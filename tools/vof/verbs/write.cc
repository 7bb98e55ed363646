// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>
#include <string>

#include "tools/vof/verbs/transfer_verb.h"
#include "tools/vof/verbs/verbs.h"

namespace vof {
namespace {

struct WriteOptions {
  std::string uri;
  std::string input = "-";
  uint64_t offset_bytes = 0;
  std::optional<uint64_t> size_bytes;
  bool pad = false;
};

absl::Status Write(const WriteOptions& options, VerbContext* context) {
  const TransferJob job{.source = LocationOf(options.input),
                        .destination = LocationOf(options.uri),
                        .destination_offset_bytes = options.offset_bytes,
                        .size_bytes = options.size_bytes,
                        .pad_last_block = options.pad};
  if (!job.destination.is_uri()) {
    return absl::InvalidArgumentError(options.uri + " is not a URI (scheme://...)");
  }
  return RunTransferVerb("wrote", job, context);
}

}  // namespace

Verb WriteVerb() {
  auto options = std::make_shared<WriteOptions>();
  return {
      .name = "write",
      .summary = "Writes standard input or a file to a device.",
      .details =
          "Offset and length must be multiples of the device's block size. Nothing is written\n"
          "when a file does not fit; of a pipe, whole blocks have been written by the time its\n"
          "end is found to lie within one. What was written is flushed at the end.",
      .examples =
          "  echo hello | vof write --pad tcp://storage/disk0\n"
          "  vof write --offset 1M --input part.bin tcp://storage/disk0",
      .flags = {Argument("URI", &options->uri, "the device"),
                SizeFlag("--offset", &options->offset_bytes, "where to begin (default: 0)"),
                SizeFlag("--length", &options->size_bytes,
                         "bytes to write (default: to the end of the input)"),
                TextFlag("--input,-i", "FILE", &options->input,
                         "the file to write (default: standard input)"),
                Switch("--pad", &options->pad, "fill the last block with zeros")},
      .run = [options](VerbContext* context) { return Write(*options, context); }};
}

}  // namespace vof
