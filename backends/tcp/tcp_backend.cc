// SPDX-License-Identifier: Apache-2.0
#include "backends/tcp/tcp_backend.h"

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "backends/tcp/tcp_dialer.h"
#include "backends/tcp/tcp_stream.h"
#include "core/runtime/stream_link.h"

namespace vof {

TcpBackend::TcpBackend(const SocketOptions& options, Resolver resolver, TroubleHandler on_trouble)
    : options_(options), resolver_(std::move(resolver)), on_trouble_(std::move(on_trouble)) {}

absl::StatusOr<std::unique_ptr<Listener>> TcpBackend::Listen(const Uri& uri, Reactor* reactor,
                                                             AcceptHandler accept) {
  SocketHandler take = [options = options_, accept = std::move(accept)](FileDescriptor socket) {
    // Fails when the client is gone already: nobody to tell.
    absl::StatusOr<TcpStream> stream = TcpStream::Adopt(std::move(socket), options);
    if (stream.ok()) accept(std::make_unique<StreamLink<TcpStream>>(*std::move(stream)));
  };
  return SocketListener::Open(uri, options_, resolver_, reactor, std::move(take), on_trouble_);
}

absl::StatusOr<std::unique_ptr<Link>> TcpBackend::Dial(const Uri& uri, MonotonicTime deadline) {
  absl::StatusOr<TcpStream> stream = DialTcp(uri, options_, resolver_, deadline);
  if (!stream.ok()) return stream.status();
  return std::make_unique<StreamLink<TcpStream>>(*std::move(stream));
}

void RegisterTcp(BackendRegistry& registry, const SocketOptions& options,
                 TroubleHandler on_trouble) {
  registry.Add(std::make_unique<TcpBackend>(options, SystemResolver(), std::move(on_trouble)));
}

}  // namespace vof
