// SPDX-License-Identifier: Apache-2.0
//
// The fabric behind `verbs://`: RDMA devices, by their IP addresses.
//
//   BackendRegistry registry;
//   RegisterVerbs(registry);
//   absl::StatusOr<Backend*> verbs = registry.Find("verbs");
//
// IPv4 and IPv6; a name stands for all its addresses, in both directions.
#ifndef VOF_BACKENDS_VERBS_VERBS_BACKEND_H_
#define VOF_BACKENDS_VERBS_VERBS_BACKEND_H_

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "backends/common/resolver.h"
#include "backends/common/trouble_handler.h"
#include "backends/verbs/verbs_calls.h"
#include "backends/verbs/verbs_options.h"
#include "core/runtime/backend.h"

namespace vof {

class VerbsSetup;

class VerbsBackend final : public Backend {
 public:
  explicit VerbsBackend(const VerbsOptions& options = {},
                        std::shared_ptr<VerbsCalls> calls = RealVerbsCalls(),
                        Resolver resolver = SystemResolver(), TroubleHandler on_trouble = nullptr);

  std::string_view scheme() const override { return "verbs"; }
  absl::StatusOr<std::unique_ptr<Listener>> Listen(const Uri& uri, Reactor* reactor,
                                                   AcceptHandler accept) override;
  // Also kResourceExhausted, when this side lacks memory or queues.
  absl::StatusOr<std::unique_ptr<Link>> Dial(const Uri& uri, MonotonicTime deadline) override;

 private:
  const std::shared_ptr<VerbsSetup> setup_;
  const Resolver resolver_;
  const TroubleHandler on_trouble_;
};

void RegisterVerbs(BackendRegistry& registry, const VerbsOptions& options = {},
                   TroubleHandler on_trouble = nullptr);

}  // namespace vof

#endif  // VOF_BACKENDS_VERBS_VERBS_BACKEND_H_
