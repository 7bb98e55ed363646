// SPDX-License-Identifier: Apache-2.0
#include "backends/ofi/ofi_side_listener.h"

#include <fcntl.h>

#include <string>

#include "absl/status/status.h"
#include "backends/common/socket_listener.h"
#include "backends/ofi/ofi_channel.h"
#include "backends/ofi/ofi_side.h"
#include "core/base/limits.h"
#include "core/base/time.h"
#include "core/runtime/message_link.h"

namespace vof {

absl::StatusOr<std::unique_ptr<Listener>> OfiSideListener::Open(
    const Uri& uri, const OfiProvider& provider, std::shared_ptr<OfiDomains> domains,
    const Resolver& resolver, Reactor* reactor, AcceptHandler accept) {
  std::unique_ptr<OfiSideListener> listener(
      new OfiSideListener(provider, std::move(domains), reactor, std::move(accept)));
  OfiSideListener* const self = listener.get();
  absl::StatusOr<std::unique_ptr<Listener>> sockets =
      SocketListener::Open(uri, {}, resolver, reactor,
                           [self](FileDescriptor socket) { self->OnSocket(std::move(socket)); });
  if (!sockets.ok()) return sockets.status();
  listener->sockets_ = *std::move(sockets);
  listener->address_ = listener->sockets_->address();
  listener->address_.options.provider = provider.name;
  return listener;
}

OfiSideListener::~OfiSideListener() {
  while (!pending_.empty()) Remove(pending_.begin());
}

void OfiSideListener::OnSocket(FileDescriptor socket) {
  if (pending_.size() == kMaxPendingHandshakes) Remove(pending_.begin());
  const Place place = pending_.emplace(pending_.end());
  place->socket = std::move(socket);
  place->timer =
      reactor_->AddTimer(DeadlineAfter(MonotonicNow(), kHandshakeTimeout), [this, place] {
        place->timer = 0;
        Remove(place);
      });
  if (!reactor_->Watch(place->socket.get(), [this, place] { OnReadable(place); }).ok()) {
    Remove(place);
  }
}

FileDescriptor OfiSideListener::Remove(Place place) {
  reactor_->Unwatch(place->socket.get());
  if (place->timer != 0) reactor_->CancelTimer(place->timer);
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

void OfiSideListener::OnHello(FileDescriptor socket, const SideHello& hello) {
  const int fd = socket.get();
  const auto refuse = [this](int side, SideAnswer answer) {
    WriteHello(side, {answer, provider_.name, {}});
  };
  if (hello.provider != provider_.name) return refuse(fd, SideAnswer::kOtherProvider);
  // A second owner of the connection, to answer by when this fails.
  const FileDescriptor answering(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  absl::StatusOr<SideEnd> end = OpenSideEnd(domains_.get(), provider_, std::move(socket));
  if (!end.ok()) return refuse(answering.get(), SideAnswer::kCannotServe);
  if (!end->MeetPeer(hello).ok()) return refuse(fd, SideAnswer::kNotReachable);
  const SideHello own = end->Hello();
  const PeerIdentity peer = end->Identity();
  std::shared_ptr<OfiDomain> domain = end->endpoint.domain;
  absl::StatusOr<std::unique_ptr<OfiChannel>> channel =
      OfiChannel::Create(std::move(end->endpoint), peer);
  if (!channel.ok()) return refuse(answering.get(), SideAnswer::kCannotServe);
  if (!WriteHello(fd, own)) return;
  const std::shared_ptr<AcceptHandler> accept = accept_;
  (*accept)(std::make_unique<MessageLink<OfiChannel>>(*std::move(channel), std::move(domain)));
}

}  // namespace vof
