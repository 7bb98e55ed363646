// SPDX-License-Identifier: Apache-2.0
//
// Accepts RDMA connections on every address of a host, on one port.
//
//   auto listener = VerbsListener::Open(uri, {.setup = setup, .resolver = SystemResolver(),
//       .reactor = reactor, .accept = [](std::unique_ptr<VerbsChannel> channel) { ... }});
//   (*listener)->address().port            // the real one when the URI said 0
//
// A connection has its queue pair, with receives posted, before it is accepted, and is handed out
// when it stands. Those that take longer than the handshake timeout are dropped; beyond max_pending
// of them others are refused. What keeps it from accepting goes to a TroubleHandler.
#ifndef VOF_BACKENDS_VERBS_VERBS_LISTENER_H_
#define VOF_BACKENDS_VERBS_VERBS_LISTENER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/common/resolver.h"
#include "backends/common/trouble_handler.h"
#include "backends/verbs/verbs_channel.h"
#include "backends/verbs/verbs_connection.h"
#include "backends/verbs/verbs_setup.h"
#include "core/runtime/backend.h"
#include "core/runtime/uri.h"

namespace vof {

class VerbsListener final : public Listener {
 public:
  // Takes what was accepted; called on the reactor, and may destroy the listener.
  using ChannelHandler = std::function<void(std::unique_ptr<VerbsChannel>)>;
  struct Parts {
    std::shared_ptr<VerbsSetup> setup;
    Resolver resolver;
    Reactor* reactor = nullptr;
    ChannelHandler accept;
    TroubleHandler on_trouble;  // may be empty
  };
  // Events handled before other work of the reactor gets its turn.
  static constexpr int kEventBudget = 64;

  // On the reactor's thread, or before it runs. Errors name the address, the cause and what to do.
  static absl::StatusOr<std::unique_ptr<VerbsListener>> Open(const Uri& uri, Parts parts);
  ~VerbsListener() override;

  const Uri& address() const override { return address_; }
  size_t num_pending() const { return pending_.size(); }

 private:
  // A connection that was asked for.
  struct Pending {
    std::unique_ptr<VerbsChannel> channel;
    uint64_t timer = 0;
  };
  // Outlives the listener while the handler runs, which may destroy it.
  struct Acceptor {
    ChannelHandler accept;
    bool is_open = true;
  };

  explicit VerbsListener(Parts parts);
  absl::Status Listen(const Uri& uri);
  absl::Status ListenOn(const SocketAddress& address, int* error);
  void TakeEvents();
  void OnRequest(const VerbsEvent& event);
  absl::Status Accept(const VerbsEvent& event, VerbsId id);
  void OnEstablished(rdma_cm_id* id);
  std::unique_ptr<VerbsChannel> TakePending(rdma_cm_id* id);
  void Report(std::string_view what) const;

  const Parts parts_;
  const std::shared_ptr<Acceptor> acceptor_;
  Uri address_;
  // From the first to end to the last: ids end before the channel they report to.
  VerbsEvents events_;
  std::vector<VerbsId> listening_;
  std::unordered_map<rdma_cm_id*, Pending> pending_;
  bool watched_ = false;
};

}  // namespace vof

#endif  // VOF_BACKENDS_VERBS_VERBS_LISTENER_H_
