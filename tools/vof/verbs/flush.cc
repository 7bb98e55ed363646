// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>

#include "tools/vof/device/open_device.h"
#include "tools/vof/verbs/verbs.h"

namespace vof {
namespace {

absl::Status Flush(const std::string& uri, VerbContext* context) {
  const auto disk = OpenBlk(uri, context);
  if (!disk.ok()) return disk.status();
  const absl::Status flushed = (*disk)->Flush();
  if (!flushed.ok()) return flushed;
  const BlkInfo info = (*disk)->info();
  Json json;
  json["uri"] = uri;
  json["flushed"] = info.write_cache;
  json["write_cache"] = info.write_cache;
  json["write_cache_known"] = info.write_cache_known;
  return context->output.Result(json, info.write_cache
                                          ? "flushed\n"
                                          : "nothing to flush: the device has no write cache, what "
                                            "was written is durable\n");
}

}  // namespace

Verb FlushVerb() {
  auto uri = std::make_shared<std::string>();
  return {
      .name = "flush",
      .summary = "Makes everything that was written to a device durable.",
      .details =
          "A device without a write cache has nothing to flush, and that is said (\"flushed\" is\n"
          "false in JSON): its writes are durable when they are answered.",
      .examples = "  vof flush tcp://storage/disk0",
      .flags = {Argument("URI", uri.get(), "the device")},
      .run = [uri](VerbContext* context) { return Flush(*uri, context); }};
}

}  // namespace vof
