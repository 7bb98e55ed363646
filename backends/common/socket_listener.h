// SPDX-License-Identifier: Apache-2.0
//
// Accepts TCP connections on every address of a host, on one port.
//
//   auto listener = SocketListener::Open(uri, options, SystemResolver(), reactor,
//                                        [](FileDescriptor socket) { ... });
//   (*listener)->address().port            // the real one when the URI said 0
//
// Out of descriptors, the listener turns the waiting clients away (they see a close instead of a
// hang) by means of one descriptor kept in reserve, stops watching for kAcceptPause and tries
// again: no spinning. It says so to a TroubleHandler.
#ifndef VOF_BACKENDS_COMMON_SOCKET_LISTENER_H_
#define VOF_BACKENDS_COMMON_SOCKET_LISTENER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/common/file_descriptor.h"
#include "backends/common/resolver.h"
#include "backends/common/trouble_handler.h"
#include "core/base/time.h"
#include "core/runtime/backend.h"

namespace vof {

// Takes an accepted connection that nothing was done with yet; on the listener's reactor.
using SocketHandler = std::function<void(FileDescriptor socket)>;

class SocketListener final : public Listener {
 public:
  // Connections accepted before other work of the reactor gets its turn.
  static constexpr int kAcceptBudget = 64;
  static constexpr Nanoseconds kAcceptPause = 100 * kNanosecondsPerMillisecond;

  // On `reactor`'s thread, or before it runs. Errors name the address, the cause and what to do.
  static absl::StatusOr<std::unique_ptr<Listener>> Open(const Uri& uri,
                                                        const SocketOptions& options,
                                                        const Resolver& resolver, Reactor* reactor,
                                                        SocketHandler accept,
                                                        TroubleHandler on_trouble = nullptr);
  ~SocketListener() override;

  const Uri& address() const override { return address_; }
  // Clients closed for want of a descriptor since the start.
  uint64_t turned_away() const { return turned_away_; }

 private:
  SocketListener(Reactor* reactor, SocketHandler accept, TroubleHandler on_trouble);

  absl::Status StartWatching();
  void StopWatching();
  void AcceptFrom(int listening_fd);
  // True: the next client may be accepted at once.
  bool OnAcceptError(int listening_fd, int error);
  // True when clients may still wait.
  bool TurnAway(int listening_fd);
  void Report(int error, uint64_t turned_away) const;
  void Pause();

  // Outlives the listener while the handler runs, which may destroy it.
  struct Acceptor {
    SocketHandler accept;
    bool is_open = true;
  };

  Reactor* const reactor_;
  const std::shared_ptr<Acceptor> acceptor_;
  const TroubleHandler on_trouble_;  // may be empty
  Uri address_;
  std::vector<FileDescriptor> sockets_;
  FileDescriptor reserve_;
  uint64_t pause_timer_ = 0;  // 0: not paused
  uint64_t turned_away_ = 0;
};

}  // namespace vof

#endif  // VOF_BACKENDS_COMMON_SOCKET_LISTENER_H_
