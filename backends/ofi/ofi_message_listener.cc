// SPDX-License-Identifier: Apache-2.0
#include "backends/ofi/ofi_message_listener.h"

#include <rdma/fi_errno.h>

#include <array>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "backends/common/listen_remedy.h"
#include "backends/ofi/ofi_channel.h"
#include "backends/ofi/ofi_error.h"
#include "backends/ofi/ofi_node.h"
#include "backends/ofi/ofi_side_listener.h"
#include "core/base/limits.h"
#include "core/base/time.h"
#include "core/runtime/message_link.h"

namespace vof {
namespace {

// An endpoint takes milliseconds to open: others are served between a few of them.
constexpr int kEventsPerTurn = 4;
constexpr int kPortAttempts = 16;  // as in the TCP listener: another address may have taken it

struct Event {
  ssize_t result = -FI_EAGAIN;
  uint32_t kind = 0;
  fi_info* info = nullptr;  // FI_CONNREQ: to be freed
};

// Private data of a request may follow the entry; nobody needs it.
Event ReadEvent(fid_eq* eq) {
  alignas(fi_eq_cm_entry) std::array<std::byte, sizeof(fi_eq_cm_entry) + 512> bytes;
  Event event;
  event.result = fi_eq_read(eq, &event.kind, bytes.data(), bytes.size(), 0);
  if (event.result == -FI_EAVAIL) {
    fi_eq_err_entry error = {};
    fi_eq_readerr(eq, &error, 0);
  } else if (event.result > 0) {
    event.info = reinterpret_cast<fi_eq_cm_entry*>(bytes.data())->info;
  }
  return event;
}

// False: there are events that the descriptor will not tell of.
bool MaySleep(fid_fabric* fabric, fid_eq* eq) {
  fid* waited = &eq->fid;
  return fi_trywait(fabric, &waited, 1) != -FI_EAGAIN;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> OfiMessageListener::Open(const Uri& uri,
                                                                   const Resolver& resolver,
                                                                   OfiListenerParts parts) {
  absl::StatusOr<std::vector<SocketAddress>> addresses =
      resolver({.host = uri.host, .port = uri.port, .listening = true});
  if (!addresses.ok()) return addresses.status();
  std::unique_ptr<OfiMessageListener> listener(new OfiMessageListener(std::move(parts)));
  listener->address_.scheme = uri.scheme;
  listener->address_.host = uri.host;
  listener->address_.has_port = true;
  listener->address_.options.provider = listener->parts_.provider.name;
  absl::Status status;
  for (int attempt = 0; attempt < kPortAttempts; ++attempt) {
    listener->address_.port = uri.port;
    status = listener->ListenOnAll(*addresses);
    if (status.ok() || uri.port != 0) break;
  }
  if (!status.ok()) return status;
  for (Passive& passive : listener->passives_) {
    OfiMessageListener* const self = listener.get();
    absl::Status watched = passive.watch.Start(self->parts_.reactor, passive.eq_fd,
                                               [self, p = &passive] { self->OnEvents(p); });
    if (!watched.ok()) return watched;
    // The descriptor reports from now on.
    MaySleep(passive.fabric.get(), passive.eq.get());
  }
  return listener;
}

OfiMessageListener::~OfiMessageListener() {
  while (!pending_.empty()) Remove(pending_.begin());
}

absl::Status OfiMessageListener::ListenOnAll(std::vector<SocketAddress> addresses) {
  passives_.clear();
  absl::Status absent;
  for (SocketAddress& address : addresses) {
    address.set_port(address_.port);
    absl::StatusOr<uint16_t> port = ListenOn(address);
    if (port.ok()) {
      address_.port = *port;
      continue;
    }
    // A name such as localhost has an IPv6 address even where there is no IPv6; and an endpoint for
    // every address may have taken both kinds.
    const bool is_second = address.family() == AF_INET6 && addresses.size() > 1;
    if (!is_second) return port.status();
    absent = port.status();
  }
  return passives_.empty() ? absent : absl::OkStatus();
}

absl::StatusOr<uint16_t> OfiMessageListener::ListenOn(const SocketAddress& address) {
  const std::string text = absl::StrCat("cannot listen on ", address.Text(), " with provider '",
                                        parts_.provider.name, "'");
  absl::StatusOr<InfoPtr> info = QueryProvider(
      parts_.provider,
      {.node = NumericNode(address), .service = absl::StrCat(address.port()), .is_source = true});
  if (!info.ok()) return info.status();
  std::list<Passive> made(1);
  Passive& passive = made.front();
  fid_fabric* fabric = nullptr;
  const auto failure = [&text](int result) {
    const absl::Status error = OfiError(result, text);
    const std::string remedy(ListenRemedy(std::abs(result)));  // its errors are those of errno
    return absl::Status(error.code(),
                        absl::StrCat(error.message(), remedy.empty() ? "" : "; ", remedy));
  };
  int result = FabricLibrary::Loaded().open_fabric((*info)->fabric_attr, &fabric, nullptr);
  if (result != 0) return failure(result);
  passive.fabric.reset(fabric, FidCloser());
  absl::StatusOr<FidPtr<fid_eq>> eq = OpenEventQueue(fabric);
  if (!eq.ok()) return eq.status();
  passive.eq = *std::move(eq);
  passive.eq_fd = WaitDescriptor(**info, &passive.eq->fid);
  fid_pep* pep = nullptr;
  result = fi_passive_ep(fabric, info->get(), &pep, nullptr);
  if (result != 0) return failure(result);
  passive.pep.reset(pep);
  result = fi_pep_bind(pep, &passive.eq->fid, 0);
  if (result == 0) result = fi_listen(pep);
  if (result != 0) return failure(result);
  sockaddr_storage bound = {};
  size_t size = sizeof(bound);
  result = fi_getname(&pep->fid, &bound, &size);
  if (result != 0) return failure(result);
  passives_.splice(passives_.end(), made);
  return SocketAddress(reinterpret_cast<const sockaddr*>(&bound), static_cast<socklen_t>(size))
      .port();
}

void OfiMessageListener::OnEvents(Passive* passive) {
  // The accept handler may end this listener.
  const std::weak_ptr<AcceptHandler> alive = parts_.accept;
  for (int i = 0; i < kEventsPerTurn; ++i) {
    Event event = ReadEvent(passive->eq.get());
    if (event.result == -FI_EAGAIN) {
      if (MaySleep(passive->fabric.get(), passive->eq.get())) return;
      continue;
    }
    if (event.result > 0 && event.kind == FI_CONNREQ) OnRequest(passive, InfoPtr(event.info));
    if (alive.expired()) return;
  }
}

void OfiMessageListener::OnRequest(Passive* passive, InfoPtr info) {
  if (pending_.size() == kMaxPendingHandshakes) Remove(pending_.begin());
  const Place place = pending_.emplace(pending_.end());
  if (info->dest_addr != nullptr) {
    const SocketAddress peer(static_cast<const sockaddr*>(info->dest_addr),
                             static_cast<socklen_t>(info->dest_addrlen));
    place->peer = {peer.HostText(), peer.port(), {}};
  }
  fid* const request = info->handle;
  bool took_request = false;
  absl::StatusOr<std::shared_ptr<OfiDomain>> domain = parts_.domains->Get(*info);
  absl::StatusOr<OfiEndpoint> endpoint =
      domain.ok() ? OfiEndpoint::Open(*std::move(domain), std::move(info), &took_request)
                  : domain.status();
  // Out of something. A request that no endpoint has taken keeps its socket until it is refused.
  if (!endpoint.ok() && !took_request) fi_reject(passive->pep.get(), request, nullptr, 0);
  if (!endpoint.ok()) parts_.ReportTurnedAway(address_, endpoint.status());
  if (!endpoint.ok() || fi_accept(endpoint->ep.get(), nullptr, 0) != 0) {
    pending_.erase(place);
    return;
  }
  place->endpoint = *std::move(endpoint);
  place->timer =
      parts_.reactor->AddTimer(DeadlineAfter(MonotonicNow(), kHandshakeTimeout), [this, place] {
        place->timer = 0;
        Remove(place);
      });
  const absl::Status watched = place->watch.Start(parts_.reactor, place->endpoint.eq_fd,
                                                  [this, place] { OnEndpointEvent(place); });
  if (!watched.ok()) {
    Remove(place);
    return;
  }
  OnEndpointEvent(place);
}

OfiEndpoint OfiMessageListener::Remove(Place place) {
  place->watch.Stop();
  if (place->timer != 0) parts_.reactor->CancelTimer(place->timer);
  OfiEndpoint endpoint = std::move(place->endpoint);
  pending_.erase(place);
  return endpoint;
}

void OfiMessageListener::OnEndpointEvent(Place place) {
  Event event;
  do {
    event = ReadEvent(place->endpoint.eq.get());
  } while (event.result == -FI_EAGAIN &&
           !MaySleep(place->endpoint.domain->fabric(), place->endpoint.eq.get()));
  if (event.result == -FI_EAGAIN) return;
  const PeerIdentity peer = place->peer;
  OfiEndpoint endpoint = Remove(place);
  if (event.result <= 0 || event.kind != FI_CONNECTED) return;
  std::shared_ptr<OfiDomain> domain = endpoint.domain;
  absl::StatusOr<std::unique_ptr<OfiChannel>> channel =
      OfiChannel::Create(std::move(endpoint), peer);
  if (!channel.ok()) return parts_.ReportTurnedAway(address_, channel.status());
  const std::shared_ptr<AcceptHandler> accept = parts_.accept;
  (*accept)(std::make_unique<MessageLink<OfiChannel>>(*std::move(channel), std::move(domain)));
}

}  // namespace vof
