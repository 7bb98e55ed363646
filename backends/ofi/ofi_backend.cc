// SPDX-License-Identifier: Apache-2.0
#include "backends/ofi/ofi_backend.h"

#include <utility>

#include "backends/ofi/ofi_dialer.h"
#include "backends/ofi/ofi_message_listener.h"
#include "backends/ofi/ofi_provider.h"
#include "backends/ofi/ofi_side_listener.h"

namespace vof {

OfiBackend::OfiBackend(Resolver resolver)
    : resolver_(std::move(resolver)), domains_(std::make_shared<OfiDomains>()) {}

absl::StatusOr<std::unique_ptr<Listener>> OfiBackend::Listen(const Uri& uri, Reactor* reactor,
                                                             AcceptHandler accept) {
  absl::StatusOr<OfiProvider> provider = FindProvider(uri.options.provider);
  if (!provider.ok()) return provider.status();
  return provider->type == FI_EP_MSG ? OfiMessageListener::Open(uri, *provider, domains_, resolver_,
                                                                reactor, std::move(accept))
                                     : OfiSideListener::Open(uri, *provider, domains_, resolver_,
                                                             reactor, std::move(accept));
}

absl::StatusOr<std::unique_ptr<Link>> OfiBackend::Dial(const Uri& uri, MonotonicTime deadline) {
  return DialOfi(uri, domains_.get(), resolver_, deadline);
}

void RegisterOfi(BackendRegistry& registry) { registry.Add(std::make_unique<OfiBackend>()); }

}  // namespace vof
