// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>
#include <string>

#include "tools/vof/verbs/transfer_verb.h"
#include "tools/vof/verbs/verbs.h"

namespace vof {
namespace {

struct ReadOptions {
  std::string uri;
  std::string output = "-";
  uint64_t offset_bytes = 0;
  std::optional<uint64_t> size_bytes;
};

absl::Status Read(const ReadOptions& options, VerbContext* context) {
  const TransferJob job{.source = LocationOf(options.uri),
                        .destination = LocationOf(options.output),
                        .source_offset_bytes = options.offset_bytes,
                        .size_bytes = options.size_bytes};
  if (!job.source.is_uri()) {
    return absl::InvalidArgumentError(options.uri + " is not a URI (scheme://...)");
  }
  return RunTransferVerb("read", job, context);
}

}  // namespace

Verb ReadVerb() {
  auto options = std::make_shared<ReadOptions>();
  return {.name = "read",
          .summary = "Reads bytes of a device to standard output or into a file.",
          .details = "Offset and length may be any; they need not be multiples of the block size.",
          .examples =
              "  vof read --length 512 tcp://storage/disk0 | hexdump -C\n"
              "  vof read --offset 1M --length 64K --output part.bin tcp://storage/disk0",
          .flags = {Argument("URI", &options->uri, "the device"),
                    SizeFlag("--offset", &options->offset_bytes, "where to begin (default: 0)"),
                    SizeFlag("--length", &options->size_bytes,
                             "bytes to read (default: to the end of the device)"),
                    TextFlag("--output,-o", "FILE", &options->output,
                             "the file to create or truncate (default: standard output)")},
          .run = [options](VerbContext* context) { return Read(*options, context); }};
}

}  // namespace vof
