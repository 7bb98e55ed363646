// SPDX-License-Identifier: Apache-2.0
#include "backends/ofi/ofi_side.h"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
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

// Text such as "fi_shm://4711:0:3": names shared memory of this machine.
absl::Status CheckLocalName(std::span<const std::byte> name, const SideEnd& end) {
  if (!SameHost(end.local, end.peer)) {
    return absl::InvalidArgumentError(absl::StrCat("provider '", end.provider,
                                                   "' reaches its own machine only, and ",
                                                   end.peer.HostText(), " is another one"));
  }
  const auto* text = reinterpret_cast<const char*>(name.data());
  const std::string_view named(text, strnlen(text, name.size()));
  const auto* own_text = reinterpret_cast<const char*>(end.own_name.data());
  const std::string_view own(own_text, strnlen(own_text, end.own_name.size()));
  const size_t scheme = own.find("://") == std::string_view::npos ? 0 : own.find("://") + 3;
  const auto harmless = [](char c) { return (c >= '0' && c <= '9') || c == ':'; };
  if (named.size() > scheme && named.substr(0, scheme) == own.substr(0, scheme) &&
      std::all_of(named.begin() + static_cast<ptrdiff_t>(scheme), named.end(), harmless)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("the peer's name is not one of this provider");
}

}  // namespace

absl::Status SideEnd::MeetPeer(const SideHello& hello) {
  const bool is_network = endpoint.info->addr_format != FI_ADDR_STR;
  absl::Status fits =
      is_network ? CheckNetworkName(hello.name, peer) : CheckLocalName(hello.name, *this);
  if (!fits.ok()) return fits;
  return endpoint.SetPeer(hello.name);
}

absl::StatusOr<SideEnd> OpenSideEnd(OfiDomains* domains, const OfiProvider& provider,
                                    FileDescriptor side) {
  if (absl::Status s = SetTcpOptions(side.get()); !s.ok()) return s;
  absl::StatusOr<SocketAddress> local = SocketAddress::OfSocket(side.get());
  if (!local.ok()) return local.status();
  absl::StatusOr<SocketAddress> peer = SocketAddress::OfPeer(side.get());
  if (!peer.ok()) return peer.status();
  ProviderQuery query;
  query.is_source = provider.has_network_address;
  if (query.is_source) query.node = NumericNode(*local);
  absl::StatusOr<InfoPtr> info = QueryProvider(provider, query);
  if (!info.ok()) return info.status();
  absl::StatusOr<std::shared_ptr<OfiDomain>> domain = domains->Get(**info);
  if (!domain.ok()) return domain.status();
  absl::StatusOr<OfiEndpoint> endpoint = OfiEndpoint::Open(*std::move(domain), *std::move(info));
  if (!endpoint.ok()) return endpoint.status();
  absl::StatusOr<std::vector<std::byte>> name = endpoint->Name();
  if (!name.ok()) return name.status();
  endpoint->side = std::move(side);
  return SideEnd{*std::move(endpoint), provider.name, *std::move(name), *local, *peer};
}

}  // namespace vof
