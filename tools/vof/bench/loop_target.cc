// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/bench/loop_target.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "devices/blk/blk_device.h"
#include "devices/blk/store_memory.h"
#include "tools/common/machine_memory.h"
#include "tools/common/size.h"

namespace vof {
namespace {

absl::Status CheckFits(uint64_t size_bytes) {
  const uint64_t machine_bytes = MachineMemoryBytes();
  if (size_bytes <= machine_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--size ", size_bytes, " (", HumanSize(size_bytes), "): the disk of loop: lies in memory, ",
      "and this machine has only ", machine_bytes, " bytes (", HumanSize(machine_bytes),
      ") of it; use a smaller --size"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<TargetServer>> StartLoopTarget(const Uri& uri,
                                                              const LoopTargetOptions& options,
                                                              BackendRegistry* registry) {
  if (const absl::Status fits = CheckFits(options.size_bytes); !fits.ok()) return fits;
  // Reads of pages that nobody has written would measure how the kernel finds zeros.
  auto store = MakeMemoryStore({.size_bytes = options.size_bytes, .populate = true});
  if (!store.ok()) return store.status();
  BlkOptions blk;
  blk.serial = "vof-bench-loop";
  blk.num_queues = options.queues;
  auto device = MakeBlkDevice(blk, *std::move(store));
  if (!device.ok()) return device.status();

  TargetServerOptions server_options;
  server_options.busy_poll = options.busy_poll;
  server_options.spin = options.spin;
  auto server = TargetServer::Start(std::move(server_options), registry);
  if (!server.ok()) return server.status();
  const absl::Status added = (*server)->AddDevice(uri.name, *std::move(device));
  if (!added.ok()) return added;
  Uri listen = uri;
  listen.name.clear();
  listen.options = {};
  const absl::StatusOr<Uri> address = (*server)->Listen(FormatUri(listen));
  if (!address.ok()) return address.status();
  return server;
}

}  // namespace vof
