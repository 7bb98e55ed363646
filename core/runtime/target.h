// SPDX-License-Identifier: Apache-2.0
//
// A target in your process: devices, listeners, and the reactors that serve them.
//
//   BackendRegistry registry;
//   RegisterTcp(registry);
//   auto target = TargetServer::Start({.reactors = 2}, &registry);
//   (*target)->AddDevice("disk0", disk);
//   absl::StatusOr<Uri> address = (*target)->Listen("tcp://0.0.0.0:8549");
//   ...
//   (*target)->Drain(10 * kNanosecondsPerSecond);
//
// Every method may be called from any thread but a reactor's. The registry outlives the server. One
// virtqueue lives on one reactor; new connections go to the reactor with the fewest virtqueues.
#ifndef VOF_CORE_RUNTIME_TARGET_H_
#define VOF_CORE_RUNTIME_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/device/device.h"
#include "core/engine/target_directory.h"
#include "core/runtime/backend.h"
#include "core/runtime/reactor_pulse.h"
#include "core/runtime/target_counters.h"
#include "core/runtime/target_options.h"
#include "core/runtime/uri.h"

namespace vof {

class TargetShards;

class TargetServer {
 public:
  static absl::StatusOr<std::unique_ptr<TargetServer>> Start(TargetServerOptions options,
                                                             BackendRegistry* registry);
  ~TargetServer();  // Stop()

  // kInvalidArgument: no usable name; kAlreadyExists.
  absl::Status AddDevice(std::string_view name, std::shared_ptr<Device> device,
                         DeviceOptions device_options = {});
  // Ends its sessions. The device lives until the last of their requests has drained. kNotFound.
  absl::Status RemoveDevice(std::string_view name);

  // Where it really listens (port 0 is replaced). Errors name the address.
  absl::StatusOr<Uri> Listen(std::string_view uri);
  absl::Status StopListening(const Uri& address);
  std::vector<Uri> Addresses() const;
  // The URI of a device at each address.
  std::vector<std::string> DeviceUris(std::string_view name) const;

  // Stops listening, answers what initiators have sent by now, closes every connection. Peers that
  // make no progress are cut off after half of the limit, so that the memory they hold serves the
  // others. False when `limit` passed first: what is left is closed by Stop.
  bool Drain(Nanoseconds limit);
  // Closes everything at once; idempotent. False when devices kept requests beyond
  // `device_timeout`: reactors and memory then live on until they complete, apart from this object.
  bool Stop();

  TargetDirectory& directory();  // before Stop
  // After Stop: what they were when it returned, every connection that it closed included.
  TargetCounters Counters() const;
  size_t num_connections() const;
  // Connections that there were, whatever became of them. Costs nothing to ask.
  uint64_t num_ended_connections() const;
  // Gives payload memory back to the system that nobody used since the last call. Pools do that by
  // themselves while there is traffic; this is for when it has ended. Before Stop. Waits for
  // nobody.
  void TrimPools();
  // Whether the reactors still turn. Lives as long as somebody has it.
  const std::shared_ptr<ReactorPulse>& pulse() const { return pulse_; }

 private:
  TargetServer(TargetServerOptions options, BackendRegistry* registry,
               std::unique_ptr<TargetShards> shards);
  void CloseListeners();

  const TargetServerOptions options_;
  BackendRegistry* const registry_;
  std::unique_ptr<TargetShards> shards_;  // null once stopped
  const std::shared_ptr<ReactorPulse> pulse_;
  TargetCounters last_counters_;  // once stopped
  mutable std::mutex mutex_;      // listeners_
  std::vector<std::unique_ptr<Listener>> listeners_;
};

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_TARGET_H_
