// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>

#include "tools/vof/device/open_device.h"
#include "tools/vof/verbs/info_report.h"
#include "tools/vof/verbs/verbs.h"

namespace vof {
namespace {

absl::Status Info(const std::string& text, VerbContext* context) {
  auto disk = OpenBlk(text, context);
  if (disk.ok()) {
    const BlkInfo blk = (*disk)->info();
    const DeviceFacts facts{text, AddressOf((*disk)->device()), (*disk)->device().info(), &blk};
    return context->output.Result(InfoJson(facts), InfoText(facts));
  }
  if (disk.status().code() != absl::StatusCode::kUnimplemented) return disk.status();

  // Devices of other types have a session, too, only less to say.
  const auto device = OpenDevice(text, context);
  if (!device.ok()) return device.status();
  if ((*device)->info().device_type == kBlkDeviceType) return disk.status();
  const DeviceFacts facts{text, AddressOf(**device), (*device)->info(), nullptr};
  return context->output.Result(InfoJson(facts), InfoText(facts));
}

}  // namespace

Verb InfoVerb() {
  auto uri = std::make_shared<std::string>();
  return {.name = "info",
          .summary = "Shows what a device is: type, size, features, queues, limits.",
          .details = "It connects, as any other use does: a device in exclusive use refuses it.",
          .examples =
              "  vof info tcp://storage/disk0\n"
              "  vof info --json tcp://storage/disk0 | jq .capacity_bytes",
          .flags = {Argument("URI", uri.get(), "the device")},
          .run = [uri](VerbContext* context) { return Info(*uri, context); }};
}

}  // namespace vof
