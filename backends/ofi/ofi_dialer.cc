// SPDX-License-Identifier: Apache-2.0
#include "backends/ofi/ofi_dialer.h"

#include <poll.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "backends/common/each_address.h"
#include "backends/common/socket_dialer.h"
#include "backends/ofi/ofi_channel.h"
#include "backends/ofi/ofi_error.h"
#include "backends/ofi/ofi_node.h"
#include "backends/ofi/ofi_provider.h"
#include "backends/ofi/ofi_side.h"
#include "core/runtime/message_link.h"

namespace vof {
namespace {

constexpr Nanoseconds kLongestWait = 1000 * kNanosecondsPerSecond;

absl::StatusOr<std::unique_ptr<Link>> MakeLink(OfiEndpoint endpoint, const PeerIdentity& peer) {
  std::shared_ptr<OfiDomain> domain = endpoint.domain;
  absl::StatusOr<std::unique_ptr<OfiChannel>> channel =
      OfiChannel::Create(std::move(endpoint), peer);
  if (!channel.ok()) return channel.status();
  return std::make_unique<MessageLink<OfiChannel>>(*std::move(channel), std::move(domain));
}

// --- With a connection of the provider ---

// FI_CONNECTED, or what happened instead.
absl::Status AwaitConnected(fid_eq* eq, MonotonicTime deadline) {
  const MonotonicTime began = MonotonicNow();
  for (;;) {
    const int left_ms = MillisecondsUntil(deadline, kLongestWait);
    if (left_ms == 0) return NoAnswerSince(began);
    alignas(fi_eq_cm_entry) std::array<std::byte, sizeof(fi_eq_cm_entry) + 512> bytes;
    uint32_t kind = 0;
    const ssize_t result = fi_eq_sread(eq, &kind, bytes.data(), bytes.size(), left_ms, 0);
    if (result == -FI_EAGAIN || result == -FI_ETIMEDOUT || result == -FI_EINTR) continue;
    if (result == -FI_EAVAIL) {
      fi_eq_err_entry error = {};
      fi_eq_readerr(eq, &error, 0);
      const std::string cause = error.err == FI_EINPROGRESS
                                    ? "what listens there does not answer as an ofi:// target"
                                    : OfiErrorText(error.err);
      return absl::UnavailableError(
          absl::StrCat(cause, " (is the target running, with the same provider?)"));
    }
    if (result < 0) return absl::UnavailableError(OfiErrorText(static_cast<int>(result)));
    if (kind == FI_CONNECTED) return absl::OkStatus();
    return absl::UnavailableError("the target refused the connection");
  }
}

absl::StatusOr<std::unique_ptr<Link>> ConnectOne(const OfiProvider& provider, OfiDomains* domains,
                                                 const SocketAddress& address,
                                                 MonotonicTime deadline) {
  absl::StatusOr<InfoPtr> info = QueryProvider(
      provider, {.node = NumericNode(address), .service = absl::StrCat(address.port())});
  if (!info.ok()) return info.status();
  absl::StatusOr<std::shared_ptr<OfiDomain>> domain = domains->Get(**info);
  if (!domain.ok()) return domain.status();
  absl::StatusOr<OfiEndpoint> endpoint = OfiEndpoint::Open(*std::move(domain), *std::move(info));
  if (!endpoint.ok()) return endpoint.status();
  const int result = fi_connect(endpoint->ep.get(), endpoint->info->dest_addr, nullptr, 0);
  if (result != 0) return absl::UnavailableError(OfiErrorText(result));
  if (absl::Status s = AwaitConnected(endpoint->eq.get(), deadline); !s.ok()) return s;
  return MakeLink(*std::move(endpoint), {address.HostText(), address.port(), {}});
}

absl::StatusOr<std::unique_ptr<Link>> DialConnected(const Uri& uri, const OfiProvider& provider,
                                                    OfiDomains* domains, const Resolver& resolver,
                                                    MonotonicTime deadline) {
  using Result = absl::StatusOr<std::unique_ptr<Link>>;
  return ConnectToEach<std::unique_ptr<Link>>(
      uri, resolver, deadline,
      absl::StrCat("cannot connect to '", uri.host, "' with provider '", provider.name, "'"),
      [&](const SocketAddress& address, MonotonicTime until) -> Result {
        Result link = ConnectOne(provider, domains, address, until);
        if (link.ok() || absl::IsDeadlineExceeded(link.status())) return link;
        return absl::UnavailableError(link.status().message());
      });
}

// --- By a side connection ---

absl::Status AwaitHello(int fd, SideHelloParser* parser, MonotonicTime deadline) {
  const MonotonicTime began = MonotonicNow();
  for (;;) {
    switch (ReadHello(fd, parser)) {
      case SideRead::kComplete:
        return absl::OkStatus();
      case SideRead::kMalformed:
        return absl::UnavailableError(
            absl::StrCat("what answers there is no target of this kind: ",
                         absl::string_view(parser->problem().data(), parser->problem().size())));
      case SideRead::kClosed:
        return absl::UnavailableError(
            "the target closed the connection (does it listen for ofi:// there?)");
      case SideRead::kAgain:
        break;
    }
    const int left_ms = MillisecondsUntil(deadline, kLongestWait);
    if (left_ms == 0) return NoAnswerSince(began);
    pollfd events{.fd = fd, .events = POLLIN, .revents = 0};
    if (poll(&events, 1, left_ms) < 0 && errno != EINTR) {
      return absl::ErrnoToStatus(errno, "cannot wait for an answer");
    }
  }
}

absl::Status CheckAnswer(const SideHello& hello, const std::string& provider) {
  switch (hello.answer) {
    case SideAnswer::kWelcome:
      break;
    case SideAnswer::kOtherProvider:
      return absl::UnavailableError(absl::StrCat("the target listens with provider '",
                                                 hello.provider, "', not '", provider,
                                                 "'; use ?provider=", hello.provider));
    case SideAnswer::kCannotServe:
      return absl::UnavailableError("the target is out of memory or descriptors");
    case SideAnswer::kNotReachable:
      return absl::UnavailableError(
          "the target cannot reach an endpoint of this machine by that connection");
  }
  if (hello.provider == provider) return absl::OkStatus();
  return absl::UnavailableError("the target welcomed us with another provider");
}

absl::StatusOr<std::unique_ptr<Link>> DialSide(const Uri& uri, const OfiProvider& provider,
                                               OfiDomains* domains, const Resolver& resolver,
                                               MonotonicTime deadline) {
  absl::StatusOr<FileDescriptor> socket = ConnectSocket(uri, {}, resolver, deadline);
  if (!socket.ok()) return socket.status();
  const std::string text = absl::StrCat("cannot connect to '", uri.host, "' port ", uri.port,
                                        " with provider '", provider.name, "': ");
  const auto in_context = [&text](const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat(text, status.message()));
  };
  absl::StatusOr<SideAddresses> addresses = SideAddresses::Of(socket->get());
  if (!addresses.ok()) return in_context(addresses.status());
  absl::StatusOr<SideEnd> end = OpenSideEnd(domains, provider, *std::move(socket), *addresses);
  if (!end.ok()) return in_context(end.status());
  const int fd = end->endpoint.side.get();
  SideHelloParser parser;
  absl::Status status = WriteHello(fd, end->Hello())
                            ? AwaitHello(fd, &parser, deadline)
                            : absl::UnavailableError("the target closed the connection");
  if (status.ok()) status = CheckAnswer(parser.hello(), provider.name);
  const std::vector<std::byte>& name = parser.hello().name;
  if (status.ok()) status = CheckPeerName(provider, name, *addresses);
  if (status.ok()) status = end->endpoint.SetPeer(name);
  if (!status.ok()) return in_context(status);
  const PeerIdentity peer = end->Identity();
  return MakeLink(std::move(end->endpoint), peer);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Link>> DialOfi(const Uri& uri, OfiDomains* domains,
                                              const Resolver& resolver, MonotonicTime deadline) {
  if (absl::Status s = CheckHasHost(uri); !s.ok()) return s;
  absl::StatusOr<OfiProvider> provider = FindProvider(uri.options.provider);
  if (!provider.ok()) return provider.status();
  return provider->type == FI_EP_MSG ? DialConnected(uri, *provider, domains, resolver, deadline)
                                     : DialSide(uri, *provider, domains, resolver, deadline);
}

}  // namespace vof
