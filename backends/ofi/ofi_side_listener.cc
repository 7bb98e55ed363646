// SPDX-License-Identifier: Apache-2.0
#include "backends/ofi/ofi_side_listener.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <string>

#include "absl/status/status.h"
#include "backends/common/socket_listener.h"
#include "backends/ofi/ofi_channel.h"
#include "backends/ofi/ofi_side.h"
#include "core/base/limits.h"
#include "core/base/time.h"
#include "core/runtime/message_link.h"

namespace vof {

absl::StatusOr<std::unique_ptr<Listener>> OfiSideListener::Open(const Uri& uri,
                                                                const Resolver& resolver,
                                                                OfiListenerParts parts) {
  std::unique_ptr<OfiSideListener> listener(new OfiSideListener(std::move(parts)));
  OfiSideListener* const self = listener.get();
  absl::StatusOr<std::unique_ptr<Listener>> sockets = SocketListener::Open(
      uri, {}, resolver, self->parts_.reactor,
      [self](FileDescriptor socket) { self->OnSocket(std::move(socket)); },
      self->parts_.on_trouble);
  if (!sockets.ok()) return sockets.status();
  listener->sockets_ = *std::move(sockets);
  listener->address_ = listener->sockets_->address();
  listener->address_.options.provider = listener->parts_.provider.name;
  return listener;
}

OfiSideListener::~OfiSideListener() {
  while (!pending_.empty()) Remove(pending_.begin());
  if (next_ready_ != 0) parts_.reactor->CancelTimer(next_ready_);
}

void OfiSideListener::OnSocket(FileDescriptor socket) {
  if (pending_.size() == kMaxPendingHandshakes) Remove(pending_.begin());
  const Place place = pending_.emplace(pending_.end());
  place->socket = std::move(socket);
  place->timer =
      parts_.reactor->AddTimer(DeadlineAfter(MonotonicNow(), kHandshakeTimeout), [this, place] {
        place->timer = 0;
        Remove(place);
      });
  if (!parts_.reactor->Watch(place->socket.get(), [this, place] { OnReadable(place); }).ok()) {
    Remove(place);
  }
}

FileDescriptor OfiSideListener::Remove(Place place) {
  parts_.reactor->Unwatch(place->socket.get());
  if (place->timer != 0) parts_.reactor->CancelTimer(place->timer);
  FileDescriptor socket = std::move(place->socket);
  pending_.erase(place);
  return socket;
}

void OfiSideListener::OnReadable(Place place) {
  const SideRead read = ReadHello(place->socket.get(), &place->parser);
  if (read == SideRead::kAgain) return;
  const SideHello hello = place->parser.hello();
  FileDescriptor socket = Remove(place);
  if (read == SideRead::kComplete && hello.answer == SideAnswer::kWelcome) {
    OnHello(std::move(socket), hello);
  }
}

void OfiSideListener::Refuse(int side, SideAnswer answer) const {
  WriteHello(side, {answer, parts_.provider.name, {}});
}

void OfiSideListener::OnHello(FileDescriptor socket, const SideHello& hello) {
  const int fd = socket.get();
  if (hello.provider != parts_.provider.name) return Refuse(fd, SideAnswer::kOtherProvider);
  absl::StatusOr<SideAddresses> addresses = SideAddresses::Of(fd);
  if (!addresses.ok()) return;
  if (!CheckPeerName(parts_.provider, hello.name, *addresses).ok()) {
    return Refuse(fd, SideAnswer::kNotReachable);
  }
  if (ready_.size() == kMaxPendingHandshakes) ready_.pop_front();
  ready_.push_back({std::move(socket), *addresses, hello});
  if (next_ready_ == 0) ServeInNextTurn();
}

void OfiSideListener::ServeInNextTurn() {
  next_ready_ = parts_.reactor->AddTimer(MonotonicNow(), [this] {
    next_ready_ = 0;
    Ready first = std::move(ready_.front());
    ready_.pop_front();
    if (!ready_.empty()) ServeInNextTurn();
    Serve(std::move(first));
  });
}

void OfiSideListener::Serve(Ready ready) {
  const int fd = ready.socket.get();
  // An endpoint takes tens of milliseconds to make: none for somebody who has left meanwhile.
  char byte = 0;
  if (recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) return;
  // A second owner of the connection, to answer by when this fails.
  const FileDescriptor answering(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  absl::StatusOr<SideEnd> end =
      OpenSideEnd(parts_.domains.get(), parts_.provider, std::move(ready.socket), ready.addresses);
  if (!end.ok()) {
    parts_.ReportTurnedAway(address_, end.status());
    return Refuse(answering.get(), SideAnswer::kCannotServe);
  }
  if (!end->endpoint.SetPeer(ready.hello.name).ok()) return Refuse(fd, SideAnswer::kNotReachable);
  const SideHello own = end->Hello();
  const PeerIdentity peer = end->Identity();
  std::shared_ptr<OfiDomain> domain = end->endpoint.domain;
  absl::StatusOr<std::unique_ptr<OfiChannel>> channel =
      OfiChannel::Create(std::move(end->endpoint), peer);
  if (!channel.ok()) {
    parts_.ReportTurnedAway(address_, channel.status());
    return Refuse(answering.get(), SideAnswer::kCannotServe);
  }
  if (!WriteHello(fd, own)) return;
  const std::shared_ptr<AcceptHandler> accept = parts_.accept;
  (*accept)(std::make_unique<MessageLink<OfiChannel>>(*std::move(channel), std::move(domain)));
}

}  // namespace vof
