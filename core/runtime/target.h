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

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/device/device.h"
#include "core/engine/target_directory.h"
#include "core/engine/target_options.h"
#include "core/runtime/backend.h"
#include "core/runtime/reactor_thread.h"
#include "core/runtime/uri.h"

namespace vof {

struct TargetServerOptions {
  int reactors = 1;       // 1..kMaxReactors
  std::vector<int> cpus;  // reactor i runs on cpus[i % size]; empty: anywhere
  bool busy_poll = false;
  Nanoseconds spin = 0;
  size_t pool_bytes = kDefaultPoolBytes;  // of each reactor
  TargetOptions limits;
  // Told what every connection was when it ends. Called on reactor threads; must not block.
  std::function<void(std::string_view what)> on_connection_end;
};

inline constexpr int kMaxReactors = 256;

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

  // Stops listening, answers what is in flight, closes every connection. False when `limit` passed
  // first: what is left is closed by Stop.
  bool Drain(Nanoseconds limit);
  void Stop();  // closes everything at once; idempotent

  TargetDirectory& directory() { return *directory_; }
  size_t num_connections() const;

 private:
  struct Shard;

  TargetServer(TargetServerOptions options, BackendRegistry* registry);
  void Accept(std::unique_ptr<Link> link);
  Shard* LeastLoaded();
  void CloseListeners();
  bool WaitUntilGone(bool only_virtqueues, MonotonicTime deadline);
  void WaitForAnEnd();

  const TargetServerOptions options_;
  BackendRegistry* const registry_;
  std::unique_ptr<TargetDirectory> directory_;
  std::vector<std::unique_ptr<Shard>> shards_;
  mutable std::mutex mutex_;  // listeners_
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::condition_variable connection_ended_;  // a hint: waiters look again anyway
  std::atomic<size_t> next_shard_{0};
  bool stopped_ = false;
};

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_TARGET_H_
