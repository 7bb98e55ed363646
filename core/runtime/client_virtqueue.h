// SPDX-License-Identifier: Apache-2.0
//
// One virtqueue of a DeviceClient, shared between the client and the reactor that its connection
// lives on.
//
//   auto virtqueue = std::make_shared<ClientVirtqueue>(0, reactor, queue_options, &signal);
//   virtqueue->Attach(std::move(link), session_info, std::move(options), {});
//   signal.WaitUntil(deadline, [&] { return virtqueue->connected(); });
//
// Methods may be called from any thread unless they say otherwise. For client*.cc only.
#ifndef VOF_CORE_RUNTIME_CLIENT_VIRTQUEUE_H_
#define VOF_CORE_RUNTIME_CLIENT_VIRTQUEUE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/engine/initiator_handshake.h"
#include "core/engine/initiator_queue.h"
#include "core/engine/initiator_virtqueue_options.h"
#include "core/engine/request_registrar.h"
#include "core/runtime/backend.h"
#include "core/runtime/client_signal.h"
#include "core/runtime/reactor.h"
#include "core/transport/domain.h"
#include "core/transport/region_map.h"
#include "core/wire/command.h"

namespace vof {

class ClientVirtqueue : public std::enable_shared_from_this<ClientVirtqueue> {
 public:
  // `signal` outlives it: it is shared through the options' callbacks.
  ClientVirtqueue(uint16_t index, Reactor* reactor, const InitiatorQueueOptions& options,
                  std::shared_ptr<ClientSignal> signal);

  // Gives the connection to the reactor; once. The callbacks of `options` are filled in here.
  // `info` is what the session agreed on; `registration` is for keyed transmission.
  void Attach(std::unique_ptr<Link> link, const SessionInfo& info,
              InitiatorVirtqueueOptions options, const RequestRegistration& registration);
  // Where memory is registered that requests of this virtqueue show to the target; null when none
  // is. Constant once attached.
  const std::shared_ptr<Domain>& domain() const { return domain_; }
  // Memory of domain() that requests may show from now on; it overlaps none that was added before.
  // Its registration ends with the connection, or earlier by EndRegion.
  void AddRegion(Region region);
  // No request that is sent from now on shows it; it ends when none in flight does.
  void EndRegion(const std::byte* begin);
  // Takes no more requests; drained() follows.
  void Drain();
  // Closes the connection; what is in flight ends with kClosed. `why` is what status() then tells.
  void Close(const absl::Status& why);

  bool connected() const;
  bool drained() const;   // or ended
  bool finished() const;  // the connection is gone, or was never attached
  absl::Status status() const;

  // The reactor's thread.
  InitiatorQueue& queue() { return *queue_; }
  uint16_t index() const { return index_; }
  Reactor* reactor() const { return reactor_; }

 private:
  // On the reactor's thread.
  absl::StatusOr<std::unique_ptr<Connection>> AttachEngine(Link* link, const SessionInfo& info,
                                                           InitiatorVirtqueueOptions options,
                                                           const RequestRegistration& registration);
  void OnFinished();
  void OnEnded(const absl::Status& why);
  void DeliverAfterTheEnd();

  const uint16_t index_;
  Reactor* const reactor_;
  const std::shared_ptr<InitiatorQueue> queue_;
  const std::shared_ptr<ClientSignal> signal_;

  std::shared_ptr<Domain> domain_;

  // The reactor's thread.
  Connection* connection_ = nullptr;
  std::function<void()> drain_;             // empty when there is no engine
  std::function<void(Region)> end_region_;  // likewise, or on a stream
  std::optional<RegionMap> regions_;        // keyed: what was added, and the pool

  // Under the signal's mutex.
  bool attached_ = false;
  bool connected_ = false;
  bool drained_ = false;
  bool finished_ = false;
  absl::Status status_;
  absl::Status close_reason_;
};

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_CLIENT_VIRTQUEUE_H_
