// SPDX-License-Identifier: Apache-2.0
#include "backends/ofi/ofi_side.h"

#include <netinet/in.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/ofi/memory_name.h"
#include "backends/ofi/ofi_node.h"

namespace vof {
namespace {

bool SameHost(const SocketAddress& a, const SocketAddress& b) {
  return a.family() == b.family() && a.HostText() == b.HostText();
}

absl::Status CheckNetworkName(std::span<const std::byte> name, const SocketAddress& peer) {
  const auto whole = peer.family() == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (name.size() < whole) return absl::InvalidArgumentError("the peer's name is too short");
  sockaddr_storage storage = {};
  std::memcpy(&storage, name.data(), whole);
  const SocketAddress named(reinterpret_cast<const sockaddr*>(&storage),
                            static_cast<socklen_t>(whole));
  if (SameHost(named, peer) && named.port() != 0) return absl::OkStatus();
  return absl::InvalidArgumentError("the peer named an endpoint that is not its own");
}

}  // namespace

absl::StatusOr<SideAddresses> SideAddresses::Of(int side) {
  absl::StatusOr<SocketAddress> local = SocketAddress::OfSocket(side);
  if (!local.ok()) return local.status();
  absl::StatusOr<SocketAddress> peer = SocketAddress::OfPeer(side);
  if (!peer.ok()) return peer.status();
  return SideAddresses{*local, *peer};
}

absl::Status CheckPeerName(const OfiProvider& provider, std::span<const std::byte> name,
                           const SideAddresses& side) {
  if (provider.has_network_address) return CheckNetworkName(name, side.peer);
  if (SameHost(side.local, side.peer)) return CheckMemoryName(name, geteuid());
  return absl::InvalidArgumentError(absl::StrCat("provider '", provider.name,
                                                 "' reaches its own machine only, and ",
                                                 side.peer.HostText(), " is another one"));
}

absl::StatusOr<SideEnd> OpenSideEnd(OfiDomains* domains, const OfiProvider& provider,
                                    FileDescriptor side, const SideAddresses& addresses) {
  if (absl::Status s = SetTcpOptions(side.get()); !s.ok()) return s;
  ProviderQuery query;
  query.is_source = provider.has_network_address;
  if (query.is_source) query.node = NumericNode(addresses.local);
  absl::StatusOr<InfoPtr> info = QueryProvider(provider, query);
  if (!info.ok()) return info.status();
  absl::StatusOr<std::shared_ptr<OfiDomain>> domain = domains->Get(**info);
  if (!domain.ok()) return domain.status();
  absl::StatusOr<OfiEndpoint> endpoint = OfiEndpoint::Open(*std::move(domain), *std::move(info));
  if (!endpoint.ok()) return endpoint.status();
  absl::StatusOr<std::vector<std::byte>> name = endpoint->Name();
  if (!name.ok()) return name.status();
  endpoint->side = std::move(side);
  return SideEnd{*std::move(endpoint), provider.name, *std::move(name), addresses.peer};
}

}  // namespace vof
