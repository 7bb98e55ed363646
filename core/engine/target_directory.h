// SPDX-License-Identifier: Apache-2.0
//
// What a target serves and to whom: devices by name, instances by id, and the rules by which
// connections become queues (docs/protocol.md, "Roles", "Session token", status by cause).
//
//   TargetDirectory directory;
//   directory.AddDevice("disk0", disk);
//   directory.ConnectControl(request, link, [](ControlGrant grant) { ... });   // perhaps after
//   fencing QueueGrant grant = directory.ConnectQueue(request, link);
//
// A grant keeps its place until it is destroyed: dropping a ControlGrant ends the instance,
// dropping a QueueGrant frees the index. Any thread; control path only. Outlives everything it
// granted.
#ifndef VOF_CORE_ENGINE_TARGET_DIRECTORY_H_
#define VOF_CORE_ENGINE_TARGET_DIRECTORY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "core/device/device.h"
#include "core/engine/target_instance.h"
#include "core/engine/target_options.h"
#include "core/engine/target_sessions.h"
#include "core/engine/waiting_list.h"

namespace vof {

class TargetDirectory;

// Whether a peer may use a device. Called on reactor threads, several at once; must not block.
using AccessCheck = std::function<bool(const PeerIdentity& peer, std::string_view initiator_name,
                                       std::string_view target_name)>;

struct DeviceOptions {
  AccessCheck access;      // empty: everybody may
  bool exclusive = false;  // one instance at a time even if the device can be shared
};

struct ConnectRequest {
  Dialect dialect = Dialect::kV5;
  Transmission transmission = Transmission::kStream;
  PeerIdentity peer;
  uint16_t instance_id = kControlInstanceId;
  uint16_t queue_index = 0;
  uint16_t queue_size = 0;          // 0: the maximum
  std::optional<ConnectBody> body;  // absent: a `v5` virtqueue inherits its control queue's
};

// The place of a control queue. Its destruction ends the instance.
class ControlPlace {
 public:
  ControlPlace(TargetDirectory* directory, std::shared_ptr<TargetInstance> instance)
      : directory_(directory), instance_(std::move(instance)) {}
  ~ControlPlace();
  ControlPlace(const ControlPlace&) = delete;
  ControlPlace& operator=(const ControlPlace&) = delete;
  const std::shared_ptr<TargetInstance>& instance() const { return instance_; }

 private:
  TargetDirectory* const directory_;
  const std::shared_ptr<TargetInstance> instance_;
};

// The place of a virtqueue. Its destruction frees the index; the queue has drained by then.
class QueuePlace {
 public:
  QueuePlace(TargetDirectory* directory, std::shared_ptr<TargetInstance> instance, uint16_t index)
      : directory_(directory), instance_(std::move(instance)), index_(index) {}
  ~QueuePlace();
  QueuePlace(const QueuePlace&) = delete;
  QueuePlace& operator=(const QueuePlace&) = delete;
  const std::shared_ptr<TargetInstance>& instance() const { return instance_; }
  uint16_t index() const { return index_; }

 private:
  TargetDirectory* const directory_;
  const std::shared_ptr<TargetInstance> instance_;
  const uint16_t index_;
};

struct ControlGrant {
  Cause cause = Cause::kOk;
  std::string obstacle = {};                      // more than the cause tells, for the target's log
  std::shared_ptr<ControlPlace> place = nullptr;  // null unless kOk
};

struct QueueGrant {
  Cause cause = Cause::kOk;
  std::shared_ptr<QueuePlace> place;  // null unless kOk
  uint16_t queue_size = 0;
  InstanceState state;
};

// One session, for listings.
struct TargetSessionInfo {
  uint16_t instance_id = 0;
  Dialect dialect = Dialect::kV5;
  std::string initiator_name, target_name, peer_address;
  uint32_t status = 0;
  uint16_t connected_queues = 0;
  bool closing = false;
};

class TargetDirectory {
 public:
  using ControlDone = std::function<void(ControlGrant)>;

  explicit TargetDirectory(const TargetOptions& options = {}) : options_(options) {}
  ~TargetDirectory();
  TargetDirectory(const TargetDirectory&) = delete;
  TargetDirectory& operator=(const TargetDirectory&) = delete;

  const TargetOptions& options() const { return options_; }

  // kInvalidArgument: no usable name; kAlreadyExists.
  absl::Status AddDevice(std::string_view name, std::shared_ptr<Device> device,
                         DeviceOptions device_options = {});
  // Ends its instances, refuses new ones. They may still be draining when this returns: the device
  // lives until the last of them is gone. kNotFound.
  absl::Status RemoveDevice(std::string_view name);
  std::vector<std::string> DeviceNames() const;
  std::vector<TargetSessionInfo> Sessions() const;
  size_t num_instances() const;

  // --- For engines ---
  // Every connection counts, half-open ones included. False: the limit is reached, close it at
  // once.
  bool AdmitConnection();
  void ReleaseConnection();
  uint32_t num_connections() const;

  // Posts `done` to link->executor, as soon as a replaced session or a closing user of an exclusive
  // device has drained. The grant in it ends the instance if nobody takes it. One Connect of a
  // session waits at a time: a later one takes its place, and it is refused.
  // Returns a ticket for Withdraw.
  uint64_t ConnectControl(ConnectRequest request, std::shared_ptr<QueueLink> link,
                          ControlDone done);
  // The connection has ended: nobody waits any more. `done` is not called unless it was posted
  // already, in which case this does nothing.
  void Withdraw(uint64_t ticket);
  QueueGrant ConnectQueue(const ConnectRequest& request, std::shared_ptr<QueueLink> link);
  // `by` wrote to the configuration of its device: the other instances of it get a change event.
  void NotifyConfigWritten(const TargetInstance& by);
  // The target goes down: from now on no session begins, and none that waits to begin waits on.
  void BeginDrain();

  // --- For tests ---
  // Sessions and waiting Connects looked at so far, to hold against the number of Connects.
  uint64_t num_looks() const;

 private:
  friend class ControlPlace;
  friend class QueuePlace;
  struct DeviceEntry {
    std::shared_ptr<Device> device;
    bool exclusive = true;
    AccessCheck access;
  };
  struct PendingConnect {
    uint64_t ticket;
    ConnectRequest request;
    std::shared_ptr<QueueLink> link;
    ControlDone done;
  };

  struct Reply {
    Executor* executor;
    std::function<void()> work;
  };
  using Replies = std::vector<Reply>;

  // All of these under mutex_. Replies are posted after it is released: an executor that has
  // stopped destroys them at once, and the grants in them with it.
  void TryConnect(PendingConnect pending, Replies* replies);
  Cause FindObstacle(const ConnectRequest& request, const DeviceEntry& entry, bool* must_wait,
                     std::string* obstacle);
  bool FindOtherUser(const TargetSessions::Users& users, std::string* obstacle);
  void Wait(PendingConnect pending, const DeviceEntry& entry, Replies* replies);
  // Of one device; null: of all.
  void RefuseWaiting(const Device* device, const ControlGrant& grant, Replies* replies);
  static void Answer(PendingConnect pending, ControlGrant grant, Replies* replies);
  std::shared_ptr<TargetInstance> MakeInstance(const ConnectRequest& request,
                                               const DeviceEntry& entry,
                                               std::shared_ptr<QueueLink> link);
  uint16_t FreeInstanceId();
  void Remove(const std::shared_ptr<TargetInstance>& instance, Replies* replies);
  static Cause CheckIdentity(const ConnectRequest& request, const InstanceIdentity& identity);

  static void Post(Replies replies);
  void OnControlGone(const std::shared_ptr<TargetInstance>& instance);
  void OnQueueGone(const std::shared_ptr<TargetInstance>& instance, uint16_t index);

  const TargetOptions options_;
  mutable std::mutex mutex_;
  std::map<std::string, DeviceEntry, std::less<>> devices_;
  TargetSessions sessions_;
  WaitingList<PendingConnect> waiting_;
  uint64_t next_ticket_ = 1;
  bool draining_ = false;
  uint64_t num_looks_ = 0;
  uint16_t next_instance_id_ = 0;
  uint32_t num_connections_ = 0;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_TARGET_DIRECTORY_H_
