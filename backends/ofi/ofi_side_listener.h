// SPDX-License-Identifier: Apache-2.0
//
// Listens for providers without connections: takes side connections, and for each of them opens an
// endpoint, exchanges names (side_hello.h) and hands the channel on.
//
//   auto listener = OfiSideListener::Open(uri, provider, domains, resolver, reactor, accept);
//
// At most kMaxPendingHandshakes side connections may owe their hello, each for kHandshakeTimeout;
// one more ends the oldest of them. What a peer gets wrong ends its connection, nothing else.
#ifndef VOF_BACKENDS_OFI_OFI_SIDE_LISTENER_H_
#define VOF_BACKENDS_OFI_OFI_SIDE_LISTENER_H_

#include <cstddef>
#include <list>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "backends/common/file_descriptor.h"
#include "backends/common/resolver.h"
#include "backends/ofi/ofi_domain.h"
#include "backends/ofi/ofi_provider.h"
#include "backends/ofi/side_hello.h"
#include "core/runtime/backend.h"
#include "core/runtime/reactor.h"

namespace vof {

inline constexpr size_t kMaxPendingHandshakes = 256;

class OfiSideListener final : public Listener {
 public:
  // On `reactor`'s thread, or before it runs.
  static absl::StatusOr<std::unique_ptr<Listener>> Open(const Uri& uri, const OfiProvider& provider,
                                                        std::shared_ptr<OfiDomains> domains,
                                                        const Resolver& resolver, Reactor* reactor,
                                                        AcceptHandler accept);
  ~OfiSideListener() override;

  const Uri& address() const override { return address_; }

 private:
  struct Pending {
    FileDescriptor socket;
    SideHelloParser parser;
    uint64_t timer = 0;
  };
  using Place = std::list<Pending>::iterator;

  OfiSideListener(OfiProvider provider, std::shared_ptr<OfiDomains> domains, Reactor* reactor,
                  AcceptHandler accept)
      : provider_(std::move(provider)),
        domains_(std::move(domains)),
        reactor_(reactor),
        accept_(std::make_shared<AcceptHandler>(std::move(accept))) {}

  void OnSocket(FileDescriptor socket);
  void OnReadable(Place place);
  void OnHello(FileDescriptor socket, const SideHello& hello);
  FileDescriptor Remove(Place place);

  const OfiProvider provider_;
  const std::shared_ptr<OfiDomains> domains_;
  Reactor* const reactor_;
  // Outlives the listener while it runs, which may destroy it.
  const std::shared_ptr<AcceptHandler> accept_;
  Uri address_;
  std::unique_ptr<Listener> sockets_;
  std::list<Pending> pending_;  // oldest first
};

}  // namespace vof

#endif  // VOF_BACKENDS_OFI_OFI_SIDE_LISTENER_H_
