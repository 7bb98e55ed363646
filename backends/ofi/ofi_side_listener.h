// SPDX-License-Identifier: Apache-2.0
//
// Listens for providers without connections: takes side connections, and for each of them opens an
// endpoint, exchanges names (side_hello.h) and hands the channel on.
//
//   auto listener = OfiSideListener::Open(uri, resolver, {provider, domains, reactor, accept});
//
// At most kMaxPendingHandshakes side connections may owe their hello, each for kHandshakeTimeout,
// and as many may wait for their endpoint; one more ends the oldest of them. In each turn of the
// reactor one endpoint is made, which takes tens of milliseconds: others are served in between.
// What a peer gets wrong ends its connection, nothing else.
#ifndef VOF_BACKENDS_OFI_OFI_SIDE_LISTENER_H_
#define VOF_BACKENDS_OFI_OFI_SIDE_LISTENER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "backends/common/file_descriptor.h"
#include "backends/common/resolver.h"
#include "backends/ofi/ofi_domain.h"
#include "backends/ofi/ofi_listener_parts.h"
#include "backends/ofi/ofi_provider.h"
#include "backends/ofi/ofi_side.h"
#include "backends/ofi/side_hello.h"
#include "core/runtime/backend.h"
#include "core/runtime/reactor.h"

namespace vof {

inline constexpr size_t kMaxPendingHandshakes = 256;

class OfiSideListener final : public Listener {
 public:
  // On `reactor`'s thread, or before it runs.
  static absl::StatusOr<std::unique_ptr<Listener>> Open(const Uri& uri, const Resolver& resolver,
                                                        OfiListenerParts parts);
  ~OfiSideListener() override;

  const Uri& address() const override { return address_; }

 private:
  struct Pending {
    FileDescriptor socket;
    SideHelloParser parser;
    uint64_t timer = 0;
  };
  using Place = std::list<Pending>::iterator;
  // The peer's name fits.
  struct Ready {
    FileDescriptor socket;
    SideAddresses addresses;
    SideHello hello;
  };

  explicit OfiSideListener(OfiListenerParts parts) : parts_(std::move(parts)) {}

  void OnSocket(FileDescriptor socket);
  void OnReadable(Place place);
  void OnHello(FileDescriptor socket, const SideHello& hello);
  void ServeInNextTurn();
  void Serve(Ready ready);
  void Refuse(int side, SideAnswer answer) const;
  FileDescriptor Remove(Place place);

  const OfiListenerParts parts_;
  Uri address_;
  std::unique_ptr<Listener> sockets_;
  std::list<Pending> pending_;  // oldest first
  std::deque<Ready> ready_;     // oldest first
  uint64_t next_ready_ = 0;     // a timer while `ready_` has any
};

}  // namespace vof

#endif  // VOF_BACKENDS_OFI_OFI_SIDE_LISTENER_H_
