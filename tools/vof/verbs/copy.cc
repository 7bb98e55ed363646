// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>
#include <string>

#include "tools/vof/device/open_device.h"
#include "tools/vof/verbs/transfer_verb.h"
#include "tools/vof/verbs/verbs.h"

namespace vof {
namespace {

struct CopyOptions {
  std::string source;
  std::string destination;
  std::optional<uint64_t> size_bytes;
  uint64_t depth = 16;
};

absl::Status Copy(const CopyOptions& options, VerbContext* context) {
  const absl::Status two = CheckTwoDevices("a copy", options.source, options.destination);
  if (!two.ok()) return two;
  const TransferJob job{.source = LocationOf(options.source),
                        .destination = LocationOf(options.destination),
                        .size_bytes = options.size_bytes,
                        // An image has the size it has; what follows it in its last block means
                        // nothing.
                        .pad_last_block = true,
                        .depth = static_cast<int>(options.depth)};
  return RunTransferVerb("copied", job, context);
}

}  // namespace

Verb CopyVerb() {
  auto options = std::make_shared<CopyOptions>();
  return {
      .name = "copy",
      .summary = "Copies a file to a device, a device to a file, or a device to a device.",
      .details =
          "Holes and zeros are not stored: a device is told to write zeroes, a file gets holes. "
          "A\n"
          "regular file is created or truncated to the size of the source; a device must be "
          "large\n"
          "enough, and what lies behind the copy stays. When the source ends within a block of\n"
          "the destination, the rest of that block becomes zeros. The copy is flushed at the end.",
      .examples =
          "  vof copy image.raw tcp://storage/disk0\n"
          "  vof copy tcp://storage/disk0 backup.raw\n"
          "  vof copy tcp://storage/disk0 tcp://[fe80::1%eth0]:8549/disk1\n"
          "  zstdcat image.zst | vof copy - tcp://storage/disk0\n"
          "  vof copy --length 10G tcp://storage/disk0 - | zstd > disk0.zst",
      .flags = {Argument("SOURCE", &options->source, "a URI, a file, or - for standard input"),
                Argument("DESTINATION", &options->destination,
                         "a URI, a file or block device, or - for standard output"),
                SizeFlag("--length", &options->size_bytes,
                         "bytes to copy (default: to the end of the source)"),
                CountFlag("--depth", {1, 256}, &options->depth,
                          "pieces of 1 MiB in flight (default: 16)")},
      .run = [options](VerbContext* context) { return Copy(*options, context); }};
}

}  // namespace vof
