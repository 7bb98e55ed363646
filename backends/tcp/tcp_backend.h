// SPDX-License-Identifier: Apache-2.0
//
// The fabric behind `tcp://`.
//
//   BackendRegistry registry;
//   RegisterTcp(registry, {.receive_buffer_bytes = 4 << 20});
//   absl::StatusOr<Backend*> tcp = registry.Find("tcp");
//
// IPv4 and IPv6; a name stands for all its addresses, in both directions.
#ifndef VOF_BACKENDS_TCP_TCP_BACKEND_H_
#define VOF_BACKENDS_TCP_TCP_BACKEND_H_

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "backends/common/resolver.h"
#include "backends/common/socket_listener.h"
#include "backends/common/trouble_handler.h"
#include "core/runtime/backend.h"

namespace vof {

class TcpBackend final : public Backend {
 public:
  explicit TcpBackend(const SocketOptions& options = {}, Resolver resolver = SystemResolver(),
                      TroubleHandler on_trouble = nullptr);

  std::string_view scheme() const override { return "tcp"; }
  absl::StatusOr<std::unique_ptr<Listener>> Listen(const Uri& uri, Reactor* reactor,
                                                   AcceptHandler accept) override;
  absl::StatusOr<std::unique_ptr<Link>> Dial(const Uri& uri, MonotonicTime deadline) override;

 private:
  const SocketOptions options_;
  const Resolver resolver_;
  const TroubleHandler on_trouble_;
};

void RegisterTcp(BackendRegistry& registry, const SocketOptions& options = {},
                 TroubleHandler on_trouble = nullptr);

}  // namespace vof

#endif  // VOF_BACKENDS_TCP_TCP_BACKEND_H_
