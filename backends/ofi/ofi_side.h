// SPDX-License-Identifier: Apache-2.0
//
// From a side connection to an endpoint without connection (FI_EP_RDM), at both ends.
//
//   absl::StatusOr<SideEnd> end = OpenSideEnd(&domains, provider, std::move(socket));
//   WriteHello(end->endpoint.side.get(), end->Hello());
//   ... ReadHello ...
//   absl::Status reachable = end->MeetPeer(parser.hello());
//
// The endpoint has the address of this end of the side connection. The name that a peer sends has
// to fit the other end of it: a peer cannot make us talk to somebody else.
#ifndef VOF_BACKENDS_OFI_OFI_SIDE_H_
#define VOF_BACKENDS_OFI_OFI_SIDE_H_

#include <string>

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

struct SideEnd {
  SideHello Hello() const { return {SideAnswer::kWelcome, provider, own_name}; }
  // kInvalidArgument when the name does not fit.
  absl::Status MeetPeer(const SideHello& hello);
  PeerIdentity Identity() const { return {peer.HostText(), peer.port(), {}}; }

  OfiEndpoint endpoint;
  std::string provider;
  std::vector<std::byte> own_name;
  SocketAddress local;  // of the side connection
  SocketAddress peer;
};

absl::StatusOr<SideEnd> OpenSideEnd(OfiDomains* domains, const OfiProvider& provider,
                                    FileDescriptor side);

}  // namespace vof

#endif  // VOF_BACKENDS_OFI_OFI_SIDE_H_
