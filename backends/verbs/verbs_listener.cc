// SPDX-License-Identifier: Apache-2.0
#include "backends/verbs/verbs_listener.h"

#include <sys/socket.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/common/socket_address.h"
#include "backends/verbs/verbs_error.h"
#include "core/runtime/reactor.h"

namespace vof {
namespace {

// With port 0 the first address chooses; another one may find that port taken, then all choose
// again.
constexpr int kPortAttempts = 16;

// A name such as localhost has an IPv6 address even where there is no IPv6; and an address without
// an RDMA device does not matter while another one has one.
bool MayBeAbsent(int error) {
  return error == EAFNOSUPPORT || error == EADDRNOTAVAIL || error == ENODEV;
}

}  // namespace

VerbsListener::VerbsListener(Parts parts)
    : parts_(std::move(parts)),
      acceptor_(std::make_shared<Acceptor>(Acceptor{parts_.accept, true})) {}

VerbsListener::~VerbsListener() {
  acceptor_->is_open = false;
  if (watched_) parts_.reactor->Unwatch(events_.fd());
  for (const auto& [id, pending] : pending_) parts_.reactor->CancelTimer(pending.timer);
}

absl::StatusOr<std::unique_ptr<VerbsListener>> VerbsListener::Open(const Uri& uri, Parts parts) {
  std::unique_ptr<VerbsListener> listener(new VerbsListener(std::move(parts)));
  const std::string where = uri.host.empty() ? absl::StrCat("port ", uri.port)
                                             : absl::StrCat("'", uri.host, "' port ", uri.port);
  absl::StatusOr<VerbsEvents> events = VerbsEvents::Open(listener->parts_.setup->calls());
  if (!events.ok()) {
    return absl::Status(events.status().code(),
                        absl::StrCat("cannot listen on ", where, ": ", events.status().message()));
  }
  listener->events_ = *std::move(events);
  if (absl::Status s = listener->Listen(uri); !s.ok()) return s;
  VerbsListener* const raw = listener.get();
  const int fd = listener->events_.fd();
  if (absl::Status s = raw->parts_.reactor->Watch(fd, [raw] { raw->TakeEvents(); }); !s.ok()) {
    return s;
  }
  listener->watched_ = true;
  return listener;
}

absl::Status VerbsListener::Listen(const Uri& uri) {
  absl::StatusOr<std::vector<SocketAddress>> addresses =
      parts_.resolver({.host = uri.host, .port = uri.port, .listening = true});
  if (!addresses.ok()) return addresses.status();
  address_.scheme = "verbs";
  address_.host = uri.host;
  address_.has_port = true;
  absl::Status status;
  int error = 0;
  for (int attempt = 0; attempt < kPortAttempts; ++attempt) {
    listening_.clear();
    address_.port = uri.port;
    absl::Status absent;
    status = absl::OkStatus();
    error = 0;
    for (SocketAddress& address : *addresses) {
      address.set_port(address_.port);
      status = ListenOn(address, &error);
      if (MayBeAbsent(error)) absent = std::exchange(status, absl::OkStatus());
      if (!status.ok()) break;
    }
    if (status.ok() && listening_.empty()) return absent;
    const bool unlucky = uri.port == 0 && error == EADDRINUSE;
    if (!unlucky) break;
  }
  return status;
}

absl::Status VerbsListener::ListenOn(const SocketAddress& address, int* error) {
  VerbsCalls& calls = *parts_.setup->calls();
  absl::StatusOr<VerbsId> id = VerbsId::Create(parts_.setup->calls(), events_);
  if (!id.ok()) return id.status();
  *error = 0;
  if (address.family() == AF_INET6) {
    // IPv4 has an id of its own.
    int only = 1;
    *error = calls.SetOption(id->get(), RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &only, sizeof(only));
  }
  if (*error == 0) *error = calls.BindAddress(id->get(), address.get());
  if (*error == 0) *error = calls.Listen(id->get(), parts_.setup->options().backlog);
  if (*error != 0) {
    return VerbsError(absl::StrCat("cannot listen on ", address.Text(), " over RDMA"), *error);
  }
  if (address_.port == 0) address_.port = calls.SourcePort(id->get());
  listening_.push_back(*std::move(id));
  return absl::OkStatus();
}

void VerbsListener::TakeEvents() {
  const std::shared_ptr<Acceptor> acceptor = acceptor_;
  VerbsEvent event;
  for (int i = 0; i < kEventBudget && acceptor->is_open && events_.Next(&event); ++i) {
    switch (event.type) {
      case RDMA_CM_EVENT_CONNECT_REQUEST:
        OnRequest(event);
        break;
      case RDMA_CM_EVENT_ESTABLISHED:
        OnEstablished(event.id);
        break;
      case RDMA_CM_EVENT_DEVICE_REMOVAL:
        if (TakePending(event.id) == nullptr) Report("the RDMA device was removed");
        break;
      default:
        // The peer gave up, or is gone already.
        TakePending(event.id);
        break;
    }
  }
}

void VerbsListener::OnRequest(const VerbsEvent& event) {
  VerbsId id(parts_.setup->calls(), event.id);
  const int max_pending = parts_.setup->options().max_pending;
  if (pending_.size() >= static_cast<size_t>(max_pending)) {
    parts_.setup->calls()->Reject(event.id);
    return Report(absl::StrCat(max_pending,
                               " connections are being established (max_pending), one more client "
                               "turned away"));
  }
  if (absl::Status s = Accept(event, std::move(id)); !s.ok()) {
    Report(absl::StrCat("a client turned away: ", s.message()));
  }
}

absl::Status VerbsListener::Accept(const VerbsEvent& event, VerbsId id) {
  VerbsCalls& calls = *parts_.setup->calls();
  absl::StatusOr<std::unique_ptr<VerbsChannel>> channel = parts_.setup->MakeChannel(std::move(id));
  if (!channel.ok()) return channel.status();
  rdma_conn_param parameters = AcceptParameters((*channel)->domain()->attributes(), event);
  if (const int error = calls.Accept(event.id, &parameters); error != 0) {
    return VerbsError("cannot accept", error);
  }
  const MonotonicTime give_up =
      DeadlineAfter(MonotonicNow(), parts_.setup->options().handshake_timeout);
  Pending& pending = pending_[event.id];
  pending.channel = *std::move(channel);
  pending.timer = parts_.reactor->AddTimer(give_up, [this, id = event.id] {
    Report("a client did not finish connecting in time");
    TakePending(id);
  });
  return absl::OkStatus();
}

void VerbsListener::OnEstablished(rdma_cm_id* id) {
  std::unique_ptr<VerbsChannel> channel = TakePending(id);
  if (channel == nullptr) return;
  // Its events go to a descriptor of its own from now on.
  absl::StatusOr<VerbsEvents> events = VerbsEvents::Open(parts_.setup->calls());
  if (!events.ok()) return Report(std::string(events.status().message()));
  if (const int error = parts_.setup->calls()->MigrateId(id, events->get()); error != 0) {
    return Report(std::string(VerbsError("cannot take a connection over", error).message()));
  }
  if (absl::Status s = channel->Establish(*std::move(events)); !s.ok()) {
    return Report(std::string(s.message()));
  }
  // The last use of this listener, which the handler may destroy.
  const std::shared_ptr<Acceptor> acceptor = acceptor_;
  acceptor->accept(std::move(channel));
}

std::unique_ptr<VerbsChannel> VerbsListener::TakePending(rdma_cm_id* id) {
  const auto found = pending_.find(id);
  if (found == pending_.end()) return nullptr;
  parts_.reactor->CancelTimer(found->second.timer);
  std::unique_ptr<VerbsChannel> channel = std::move(found->second.channel);
  pending_.erase(found);
  return channel;
}

void VerbsListener::Report(std::string_view what) const {
  if (!parts_.on_trouble) return;
  parts_.on_trouble(absl::StrCat(FormatUri(address_), ": ", std::string(what)));
}

}  // namespace vof
