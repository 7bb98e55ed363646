// SPDX-License-Identifier: Apache-2.0
//
// Listens for providers with connections (FI_EP_MSG): passive endpoints of libfabric, one for each
// address of the host.
//
//   auto listener = OfiMessageListener::Open(uri, resolver, {provider, domains, reactor, accept});
//
// At most kMaxPendingHandshakes connections may be between their request and their establishment,
// each for kHandshakeTimeout; one more ends the oldest of them. Connections that never ask are the
// provider's: tcp and net keep them without a limit of their own (docs/fabrics.md).
#ifndef VOF_BACKENDS_OFI_OFI_MESSAGE_LISTENER_H_
#define VOF_BACKENDS_OFI_OFI_MESSAGE_LISTENER_H_

#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>

#include <cstdint>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/common/resolver.h"
#include "backends/ofi/event_watch.h"
#include "backends/ofi/ofi_domain.h"
#include "backends/ofi/ofi_endpoint.h"
#include "backends/ofi/ofi_listener_parts.h"
#include "backends/ofi/ofi_provider.h"
#include "core/runtime/backend.h"
#include "core/runtime/reactor.h"

namespace vof {

class OfiMessageListener final : public Listener {
 public:
  // On `reactor`'s thread, or before it runs.
  static absl::StatusOr<std::unique_ptr<Listener>> Open(const Uri& uri, const Resolver& resolver,
                                                        OfiListenerParts parts);
  ~OfiMessageListener() override;

  const Uri& address() const override { return address_; }

 private:
  // In the order in which they may be closed.
  struct Passive {
    std::shared_ptr<fid_fabric> fabric;
    FidPtr<fid_eq> eq;
    FidPtr<fid_pep> pep;
    int eq_fd = -1;
    EventWatch watch;  // ends first
  };
  struct Pending {
    OfiEndpoint endpoint;
    PeerIdentity peer;
    EventWatch watch;
    uint64_t timer = 0;
  };
  using Place = std::list<Pending>::iterator;

  explicit OfiMessageListener(OfiListenerParts parts) : parts_(std::move(parts)) {}

  absl::StatusOr<uint16_t> ListenOn(const SocketAddress& address);
  absl::Status ListenOnAll(std::vector<SocketAddress> addresses);
  void OnEvents(Passive* passive);
  void OnRequest(Passive* passive, InfoPtr info);
  void OnEndpointEvent(Place place);
  OfiEndpoint Remove(Place place);

  const OfiListenerParts parts_;
  Uri address_;
  std::list<Passive> passives_;
  std::list<Pending> pending_;  // oldest first
};

}  // namespace vof

#endif  // VOF_BACKENDS_OFI_OFI_MESSAGE_LISTENER_H_
