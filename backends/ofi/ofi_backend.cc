// SPDX-License-Identifier: Apache-2.0
#include "backends/ofi/ofi_backend.h"

#include <utility>

#include "backends/ofi/fabric_library.h"
#include "backends/ofi/ofi_dialer.h"
#include "backends/ofi/ofi_message_listener.h"
#include "backends/ofi/ofi_provider.h"
#include "backends/ofi/ofi_side_listener.h"

namespace vof {

OfiBackend::OfiBackend(Resolver resolver, TroubleHandler on_trouble, const OfiOptions& options)
    : resolver_(std::move(resolver)),
      on_trouble_(std::move(on_trouble)),
      domains_(std::make_shared<OfiDomains>(options)) {}

absl::StatusOr<std::unique_ptr<Listener>> OfiBackend::Listen(const Uri& uri, Reactor* reactor,
                                                             AcceptHandler accept) {
  absl::StatusOr<OfiProvider> provider = FindProvider(uri.options.provider);
  if (!provider.ok()) return provider.status();
  OfiListenerParts parts{*std::move(provider), domains_, reactor,
                         std::make_shared<AcceptHandler>(std::move(accept)), on_trouble_};
  return parts.provider.type == FI_EP_MSG
             ? OfiMessageListener::Open(uri, resolver_, std::move(parts))
             : OfiSideListener::Open(uri, resolver_, std::move(parts));
}

absl::StatusOr<std::unique_ptr<Link>> OfiBackend::Dial(const Uri& uri, MonotonicTime deadline) {
  return DialOfi(uri, domains_.get(), resolver_, deadline);
}

void RegisterOfi(BackendRegistry& registry, TroubleHandler on_trouble, const OfiOptions& options) {
  FabricLibrary::PrepareProcess();
  registry.Add(std::make_unique<OfiBackend>(SystemResolver(), std::move(on_trouble), options));
}

}  // namespace vof
