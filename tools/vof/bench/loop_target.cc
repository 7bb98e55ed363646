// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/bench/loop_target.h"

#include <utility>

#include "devices/blk/blk_device.h"
#include "devices/blk/store_memory.h"

namespace vof {

absl::StatusOr<std::unique_ptr<TargetServer>> StartLoopTarget(const Uri& uri,
                                                              const LoopTargetOptions& options,
                                                              BackendRegistry* registry) {
  auto store = MakeMemoryStore({.size_bytes = options.size_bytes});
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
