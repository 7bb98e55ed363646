// SPDX-License-Identifier: Apache-2.0
//
// The fabrics behind `ofi://HOST[:PORT]/TVQN?provider=NAME`: what libfabric finds on this machine.
//
//   BackendRegistry registry;
//   RegisterOfi(registry);
//   absl::StatusOr<Backend*> ofi = registry.Find("ofi");
//
// Without `provider` it is libfabric's first one with connections, else its first one at all; both
// ends have to use the same. docs/fabrics.md tells how providers differ.
#ifndef VOF_BACKENDS_OFI_OFI_BACKEND_H_
#define VOF_BACKENDS_OFI_OFI_BACKEND_H_

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "backends/common/resolver.h"
#include "backends/common/trouble_handler.h"
#include "backends/ofi/ofi_domain.h"
#include "backends/ofi/ofi_options.h"
#include "core/runtime/backend.h"

namespace vof {

class OfiBackend final : public Backend {
 public:
  // `on_trouble`: what keeps listeners from accepting.
  explicit OfiBackend(Resolver resolver = SystemResolver(), TroubleHandler on_trouble = nullptr,
                      const OfiOptions& options = {});

  std::string_view scheme() const override { return "ofi"; }
  absl::StatusOr<std::unique_ptr<Listener>> Listen(const Uri& uri, Reactor* reactor,
                                                   AcceptHandler accept) override;
  absl::StatusOr<std::unique_ptr<Link>> Dial(const Uri& uri, MonotonicTime deadline) override;

 private:
  const Resolver resolver_;
  const TroubleHandler on_trouble_;
  const std::shared_ptr<OfiDomains> domains_;  // listeners use it, too
};

// libfabric itself is loaded by the first Listen or Dial. Call this before there are threads: it
// sets an environment variable (fabric_library.h).
void RegisterOfi(BackendRegistry& registry, TroubleHandler on_trouble = nullptr,
                 const OfiOptions& options = {});

}  // namespace vof

#endif  // VOF_BACKENDS_OFI_OFI_BACKEND_H_
