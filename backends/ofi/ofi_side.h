// SPDX-License-Identifier: Apache-2.0
//
// From a side connection to an endpoint without connection (FI_EP_RDM), at both ends.
//
//   absl::StatusOr<SideAddresses> addresses = SideAddresses::Of(socket.get());
//   absl::StatusOr<SideEnd> end = OpenSideEnd(&domains, provider, std::move(socket), *addresses);
//   WriteHello(end->endpoint.side.get(), end->Hello());
//   ... ReadHello ...
//   absl::Status fits = CheckPeerName(provider, parser.hello().name, *addresses);
//   if (fits.ok()) fits = end->endpoint.SetPeer(parser.hello().name);
//
// The endpoint has the address of this end of the side connection. The name that a peer sends has
// to fit the other end of it: a peer cannot make us talk to somebody else. It costs next to nothing
// to look at, an endpoint tens of milliseconds: whoever can look first does.
#ifndef VOF_BACKENDS_OFI_OFI_SIDE_H_
#define VOF_BACKENDS_OFI_OFI_SIDE_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/common/file_descriptor.h"
#include "backends/common/socket_address.h"
#include "backends/ofi/ofi_domain.h"
#include "backends/ofi/ofi_endpoint.h"
#include "backends/ofi/ofi_provider.h"
#include "backends/ofi/side_hello.h"
#include "core/transport/byte_stream.h"

namespace vof {

struct SideAddresses {
  // kUnavailable and others: the connection has ended.
  static absl::StatusOr<SideAddresses> Of(int side);

  SocketAddress local;
  SocketAddress peer;
};

struct SideEnd {
  SideHello Hello() const { return {SideAnswer::kWelcome, provider, own_name}; }
  PeerIdentity Identity() const { return {peer.HostText(), peer.port(), {}}; }

  OfiEndpoint endpoint;
  std::string provider;
  std::vector<std::byte> own_name;
  SocketAddress peer;
};

// kInvalidArgument when the peer at the other end of `side` cannot be behind `name`.
absl::Status CheckPeerName(const OfiProvider& provider, std::span<const std::byte> name,
                           const SideAddresses& side);

// Takes the connection; `addresses` are its own.
absl::StatusOr<SideEnd> OpenSideEnd(OfiDomains* domains, const OfiProvider& provider,
                                    FileDescriptor side, const SideAddresses& addresses);

}  // namespace vof

#endif  // VOF_BACKENDS_OFI_OFI_SIDE_H_
