// SPDX-License-Identifier: Apache-2.0
#include "backends/ofi/ofi_message_listener.h"

#include <rdma/fi_errno.h>

#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "backends/ofi/ofi_channel.h"
#include "backends/ofi/ofi_error.h"
#include "backends/ofi/ofi_node.h"
#include "backends/ofi/ofi_side_listener.h"
#include "core/base/limits.h"
#include "core/base/time.h"
#include "core/runtime/message_link.h"

namespace vof {
namespace {

constexpr int kEventsPerTurn = 64;
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

absl::StatusOr<std::unique_ptr<Listener>> OfiMessageListener::Open(
    const Uri& uri, const OfiProvider& provider, std::shared_ptr<OfiDomains> domains,
    const Resolver& resolver, Reactor* reactor, AcceptHandler accept) {
  absl::StatusOr<std::vector<SocketAddress>> addresses =
      resolver({.host = uri.host, .port = uri.port, .listening = true});
  if (!addresses.ok()) return addresses.status();
  std::unique_ptr<OfiMessageListener> listener(
      new OfiMessageListener(provider, std::move(domains), reactor, std::move(accept)));
  listener->address_.scheme = uri.scheme;
  listener->address_.host = uri.host;
  listener->address_.has_port = true;
  listener->address_.options.provider = provider.name;
  absl::Status status;
  for (int attempt = 0; attempt < kPortAttempts; ++attempt) {
    listener->address_.port = uri.port;
    status = listener->ListenOnAll(*addresses);
    if (status.ok() || uri.port != 0) break;
  }
  if (!status.ok()) return status;
  for (Passive& passive : listener->passives_) {
    OfiMessageListener* const self = listener.get();
    if (absl::Status s = reactor->Watch(passive.eq_fd, [self, p = &passive] { self->OnEvents(p); });
        !s.ok()) {
      return s;
    }
    // The descriptor reports from now on.
    MaySleep(passive.fabric.get(), passive.eq.get());
  }
  return listener;
}

OfiMessageListener::~OfiMessageListener() {
  while (!pending_.empty()) Remove(pending_.begin());
  for (const Passive& passive : passives_) reactor_->Unwatch(passive.eq_fd);
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
  const std::string text =
      absl::StrCat("cannot listen on ", address.Text(), " with provider '", provider_.name, "'");
  absl::StatusOr<InfoPtr> info = QueryProvider(
      provider_,
      {.node = NumericNode(address), .service = absl::StrCat(address.port()), .is_source = true});
  if (!info.ok()) return info.status();
  Passive passive;
  fid_fabric* fabric = nullptr;
  int result = fi_fabric((*info)->fabric_attr, &fabric, nullptr);
  if (result != 0) return OfiError(result, text);
  passive.fabric.reset(fabric, FidCloser());
  absl::StatusOr<FidPtr<fid_eq>> eq = OpenEventQueue(fabric);
  if (!eq.ok()) return eq.status();
  passive.eq = *std::move(eq);
  passive.eq_fd = WaitDescriptor(&passive.eq->fid);
  fid_pep* pep = nullptr;
  result = fi_passive_ep(fabric, info->get(), &pep, nullptr);
  if (result != 0) return OfiError(result, text);
  passive.pep.reset(pep);
  result = fi_pep_bind(pep, &passive.eq->fid, 0);
  if (result == 0) result = fi_listen(pep);
  if (result != 0) return OfiError(result, text);
  if (passive.eq_fd < 0) {
    return absl::UnimplementedError(absl::StrCat(text, ": it has no descriptor to wait on"));
  }
  sockaddr_storage bound = {};
  size_t size = sizeof(bound);
  result = fi_getname(&pep->fid, &bound, &size);
  if (result != 0) return OfiError(result, text);
  passives_.push_back(std::move(passive));
  return SocketAddress(reinterpret_cast<const sockaddr*>(&bound), static_cast<socklen_t>(size))
      .port();
}

void OfiMessageListener::OnEvents(Passive* passive) {
  // The accept handler may end this listener.
  const std::weak_ptr<AcceptHandler> alive = accept_;
  for (int i = 0; i < kEventsPerTurn; ++i) {
    Event event = ReadEvent(passive->eq.get());
    if (event.result == -FI_EAGAIN) {
      if (MaySleep(passive->fabric.get(), passive->eq.get())) return;
      continue;
    }
    if (event.result > 0 && event.kind == FI_CONNREQ) OnRequest(InfoPtr(event.info));
    if (alive.expired()) return;
  }
}

void OfiMessageListener::OnRequest(InfoPtr info) {
  if (pending_.size() == kMaxPendingHandshakes) Remove(pending_.begin());
  Pending pending;
  if (info->dest_addr != nullptr) {
    const SocketAddress peer(static_cast<const sockaddr*>(info->dest_addr),
                             static_cast<socklen_t>(info->dest_addrlen));
    pending.peer = {peer.HostText(), peer.port(), {}};
  }
  absl::StatusOr<std::shared_ptr<OfiDomain>> domain = domains_->Get(*info);
  // Out of something: the peer is told by the end of its connection.
  if (!domain.ok()) return;
  absl::StatusOr<OfiEndpoint> endpoint = OfiEndpoint::Open(*std::move(domain), std::move(info));
  if (!endpoint.ok() || fi_accept(endpoint->ep.get(), nullptr, 0) != 0) return;
  pending.endpoint = *std::move(endpoint);
  const Place place = pending_.insert(pending_.end(), std::move(pending));
  place->timer =
      reactor_->AddTimer(DeadlineAfter(MonotonicNow(), kHandshakeTimeout), [this, place] {
        place->timer = 0;
        Remove(place);
      });
  if (!reactor_->Watch(place->endpoint.eq_fd, [this, place] { OnEndpointEvent(place); }).ok()) {
    Remove(place);
    return;
  }
  OnEndpointEvent(place);
}

OfiMessageListener::Pending OfiMessageListener::Remove(Place place) {
  reactor_->Unwatch(place->endpoint.eq_fd);
  if (place->timer != 0) reactor_->CancelTimer(place->timer);
  Pending pending = std::move(*place);
  pending_.erase(place);
  return pending;
}

void OfiMessageListener::OnEndpointEvent(Place place) {
  Event event;
  do {
    event = ReadEvent(place->endpoint.eq.get());
  } while (event.result == -FI_EAGAIN &&
           !MaySleep(place->endpoint.domain->fabric(), place->endpoint.eq.get()));
  if (event.result == -FI_EAGAIN) return;
  Pending pending = Remove(place);
  if (event.result <= 0 || event.kind != FI_CONNECTED) return;
  std::shared_ptr<OfiDomain> domain = pending.endpoint.domain;
  absl::StatusOr<std::unique_ptr<OfiChannel>> channel =
      OfiChannel::Create(std::move(pending.endpoint), pending.peer);
  if (!channel.ok()) return;
  const std::shared_ptr<AcceptHandler> accept = accept_;
  (*accept)(std::make_unique<MessageLink<OfiChannel>>(*std::move(channel), std::move(domain)));
}

}  // namespace vof
