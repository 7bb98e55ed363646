// SPDX-License-Identifier: Apache-2.0
//
// A device behind a URI, in your program: connects, brings it up, and gives its virtqueues to
// reactors.
//
//   BackendRegistry registry;
//   RegisterTcp(registry);
//   absl::StatusOr<Uri> uri = ParseUri("tcp://host/disk0?queues=2");
//   auto device = DeviceClient::Connect(*uri, &registry, {});
//   if (!device.ok()) return device.status();         // says what failed, where, and why
//   ClientQueue& queue = (*device)->queue(0);
//   queue.Post([&] { queue.Submit(&request); });      // Submit: on the queue's reactor only
//
// Methods that block may be called from any thread but a reactor's. A reactor given in the options
// runs on a thread of its own, outlives the client, and may serve many clients and targets.
//
// Errors name the URI and carry their kind (FailureKindOf in core/engine/initiator_status.h):
// kUnavailable cannot connect (a host that has no address included) or lost; before a target has
// answered every failure is of the kind kCannotConnect, whatever its code; kNotFound,
// kPermissionDenied, kFailedPrecondition refused, with the target's reason; kUnimplemented not
// supported; kDeadlineExceeded no answer in time; kInvalidArgument a bad URI.
#ifndef VOF_CORE_RUNTIME_CLIENT_H_
#define VOF_CORE_RUNTIME_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/buffer.h"
#include "core/base/limits.h"
#include "core/base/time.h"
#include "core/engine/initiator_config_script.h"
#include "core/engine/initiator_handshake.h"
#include "core/engine/initiator_request.h"
#include "core/engine/initiator_status.h"
#include "core/engine/request_registrar.h"
#include "core/runtime/backend.h"
#include "core/runtime/memory_registration.h"
#include "core/runtime/reactor.h"
#include "core/runtime/uri.h"
#include "core/transport/byte_stream.h"

namespace vof {

class ClientSession;
class ClientVirtqueue;

struct DeviceClientOptions {
  // Where the connections live: virtqueue i on reactors[i % size], the control queue on the first.
  // Empty: the client starts `own_reactors` threads of its own, made as `own_reactor` says.
  std::vector<Reactor*> reactors;
  int own_reactors = 1;
  ReactorOptions own_reactor = {.name = "vof-client", .pool_bytes = kDefaultClientPoolBytes};

  // The URI's own name, numbers and time-outs go first.
  std::string initiator_name;  // when the URI has none; empty: "vof." and the host's name
  uint64_t wanted_features = ~uint64_t{0};      // of those the device offers
  uint16_t default_queues = 1;                  // when the URI does not say
  std::optional<ConfigField> num_queues_field;  // see InitiatorHandshakeOptions
  uint64_t num_queues_feature = 0;

  // On fabrics with remote memory access: pieces of requests that lie in no registered memory are
  // copied, or registered for their request alone (see request_registrar.h).
  RequestRegistration request_registration = {};

  // Both on the first reactor's thread; must not block. After on_config_changed nothing more is
  // told until somebody reads the configuration.
  std::function<void()> on_config_changed;
  std::function<void(const absl::Status& why)> on_ended;
};

// One virtqueue of a DeviceClient. Lives as long as the client.
class ClientQueue {
 public:
  explicit ClientQueue(std::shared_ptr<ClientVirtqueue> virtqueue);

  uint16_t index() const { return index_; }
  uint16_t size() const { return size_; }  // requests in flight at most; more wait their turn
  Reactor* reactor() const { return reactor_; }

  // On the reactor's thread. See initiator_request.h: `done` always comes, later, on that thread.
  void Submit(InitiatorRequest* request);
  // Any thread: runs `work` on the reactor's.
  void Post(std::function<void()> work) { reactor_->Post(std::move(work)); }
  // Why its connection ended; OK while it lives. A virtqueue may end alone. Any thread.
  absl::Status status() const;

 private:
  const std::shared_ptr<ClientVirtqueue> virtqueue_;
  const uint16_t index_;
  const uint16_t size_;
  Reactor* const reactor_;
};

class DeviceClient {
 public:
  // Blocks until the device is ready or `uri.options.connect_timeout` has passed. Opens as many
  // virtqueues as the URI asks for, or fewer when the device has fewer.
  static absl::StatusOr<std::unique_ptr<DeviceClient>> Connect(const Uri& uri,
                                                               BackendRegistry* registry,
                                                               DeviceClientOptions options);
  // Disconnect()s. No request may be submitted any more.
  ~DeviceClient();
  DeviceClient(const DeviceClient&) = delete;
  DeviceClient& operator=(const DeviceClient&) = delete;

  // --- What was agreed; any thread, constant ---
  const SessionInfo& info() const { return info_; }
  const PeerIdentity& peer() const { return peer_; }
  const Uri& uri() const { return uri_; }
  size_t num_queues() const { return queues_.size(); }
  ClientQueue& queue(size_t index) { return *queues_[index]; }

  // --- Blocking; not on a reactor's thread. Each command is given `uri.options.io_timeout` ---
  // All fields under one generation. kAborted: the configuration never stood still.
  absl::StatusOr<ConfigSnapshot> ReadConfig(std::vector<ConfigField> fields);
  absl::Status WriteConfig(ConfigField field, uint64_t value);
  // Resets the device and brings it up again: requests in flight end first, those submitted
  // meanwhile are refused with Cause::kStatus.
  absl::Status Reset();
  // How long the target takes to answer a command that does nothing.
  absl::StatusOr<Nanoseconds> Ping();
  // Registers `bytes` with the fabric until the handle ends, so that requests in it are not copied;
  // see memory_registration.h. It takes as long as the fabric needs to pin the memory; any thread.
  // On a stream there is nothing to register: it succeeds. kResourceExhausted: a limit, its value,
  // and the bytes needed; kAlreadyExists: overlaps what is registered; kInvalidArgument: an empty
  // range. The memory is mapped and writable as long as the handle has not ended.
  absl::StatusOr<MemoryRegistration> RegisterMemory(MutableBuffer bytes);
  // Serves what was submitted for a while, then ends in good order. Idempotent. What is not
  // answered by then ends with kClosed before it returns.
  void Disconnect();

  // Why the session ended; OK while it lives. Any thread.
  absl::Status status() const;

 private:
  DeviceClient() = default;

  Uri uri_;
  SessionInfo info_;
  PeerIdentity peer_;
  std::shared_ptr<ClientSession> session_;  // shared with the reactors
  std::vector<std::unique_ptr<ClientQueue>> queues_;
  bool disconnected_ = false;
};

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_CLIENT_H_
