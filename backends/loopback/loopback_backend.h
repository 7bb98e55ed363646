// SPDX-License-Identifier: Apache-2.0
//
// The fabric behind `loop://`: targets and initiators of one process, connected by byte streams or,
// with `?transmission=keyed`, by message channels with remote memory access.
//
//   BackendRegistry registry;
//   RegisterLoopback(registry);
//   auto listener = (*registry.Find("loop"))->Listen(*ParseUri("loop:///"), reactor, accept);
//   auto link = (*registry.Find("loop"))->Dial(*ParseUri("loop:///disk0"), deadline);
//
// One backend is one universe: its listeners are found by the host (and port, if any) of the URI,
// and by no other backend. A listener takes both kinds; who dials chooses. With a fault plan every
// dialled stream suffers from it (backends/loopback/faults.h); message channels have faults of
// their own in FabricOptions.
#ifndef VOF_BACKENDS_LOOPBACK_LOOPBACK_BACKEND_H_
#define VOF_BACKENDS_LOOPBACK_LOOPBACK_BACKEND_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "backends/loopback/fabric_channel.h"
#include "backends/loopback/fabric_domain.h"
#include "backends/loopback/faults.h"
#include "backends/loopback/loopback_stream.h"
#include "core/runtime/backend.h"

namespace vof {

class LoopbackUniverse;

class LoopbackBackend final : public Backend {
 public:
  // The faults of the n-th dialled connection, n from 0; called by the dialling thread.
  using Faults = std::function<FaultPlan(uint64_t nth)>;

  // Of dialled message channels, the initiator's end is `a` of `fabric`.
  explicit LoopbackBackend(const LoopbackOptions& options = {}, Faults faults = nullptr,
                           const FabricOptions& fabric = {},
                           const FabricDomainOptions& domain = {});

  std::string_view scheme() const override { return "loop"; }
  // kAlreadyExists when somebody listens at that host and port.
  absl::StatusOr<std::unique_ptr<Listener>> Listen(const Uri& uri, Reactor* reactor,
                                                   AcceptHandler accept) override;
  // Never waits. kUnavailable, with the known listeners, when nobody listens there.
  absl::StatusOr<std::unique_ptr<Link>> Dial(const Uri& uri, MonotonicTime deadline) override;

 private:
  // Hands `server` to the listener of `uri`; returns how many connections came before.
  absl::StatusOr<uint64_t> Meet(const Uri& uri, std::unique_ptr<Link> server);

  const LoopbackOptions options_;
  const Faults faults_;
  const FabricOptions fabric_;
  std::shared_ptr<LoopbackUniverse> universe_;  // listeners hold it too
};

void RegisterLoopback(BackendRegistry& registry, const LoopbackOptions& options = {});

}  // namespace vof

#endif  // VOF_BACKENDS_LOOPBACK_LOOPBACK_BACKEND_H_
