// SPDX-License-Identifier: Apache-2.0
//
// One device instance of a target: what one initiator session has negotiated, and the queues it
// connected.
//
//   std::shared_ptr<TargetInstance> instance = ...;     // made by TargetDirectory
//   instance->SetStatus(status, executor, [] { answer }); // told to every queue first
//   instance->Reset(executor, [] { answer });             // every queue drained
//
// Shared by the engines of its queues on all reactors: every method may be called from any thread.
// Control path only: the data path works on the copy of the state that each queue was told
// (queue_link.h).
#ifndef VOF_CORE_ENGINE_TARGET_INSTANCE_H_
#define VOF_CORE_ENGINE_TARGET_INSTANCE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "core/engine/queue_link.h"
#include "core/transport/byte_stream.h"
#include "core/wire/command.h"

namespace vof {

// Whether two tokens are equal, in time that does not depend on where they differ.
bool EqualTokens(const SessionToken& a, const SessionToken& b);

// What stays the same for the life of an instance.
struct InstanceIdentity {
  uint16_t id = 0;
  Dialect dialect = Dialect::kV5;
  Transmission transmission = Transmission::kStream;
  ConnectBody body;  // names and token
  PeerIdentity peer;
  std::shared_ptr<Device> device;
  uint64_t offered_features = 0;  // device features, as offered to this initiator
  uint16_t num_queues = 0;
  uint16_t max_queue_size = 0;  // `ref`: a power of two
};

class TargetInstance {
 public:
  using Done = std::function<void()>;

  TargetInstance(InstanceIdentity identity, std::shared_ptr<QueueLink> control);

  const InstanceIdentity& identity() const { return identity_; }
  Device& device() const { return *identity_.device; }

  InstanceState state() const;
  uint16_t num_connected_queues() const;
  bool closing() const;
  // In `ref` there is no disconnect to answer: an initiator resets the device it drove and closes.
  // From the reset on it has let go, though its connections may be seen to close only later.
  bool has_let_go() const;

  // --- Commands ---
  // Each tells the connected queues and then posts `done` to `executor`, so that what arrives on a
  // queue after the answer meets the new state.
  void SetStatus(uint32_t status, Executor* executor, Done done);
  void Reset(Executor* executor, Done done);
  // Before the queues need it: they learn it with the next status.
  void SetDriverFeatures(uint64_t features);
  // False once a virtqueue has connected: too late.
  bool SetTransportFeatures(uint64_t features);
  bool SetInlineSizes(uint32_t request_bytes, uint32_t completion_bytes);
  // The size that `ref` gave a queue, or the maximum.
  uint16_t queue_size(uint16_t index) const;
  // kQueueIndex, kQueueSize, or kQueueBusy when it is connected already.
  Cause SetQueueSize(uint16_t index, uint64_t size);

  // --- Queues come and go (TargetDirectory) ---
  // Takes the place of virtqueue `index` and returns what it has to know. kQueueBusy: not drained
  // yet.
  Cause AttachQueue(uint16_t index, std::shared_ptr<QueueLink> link, InstanceState* state);
  // Both return true when nothing is attached any more and the instance is closing: it may be
  // removed.
  bool DetachQueue(uint16_t index);
  bool DetachControl();
  // Starts the end: no queue connects any more, every attached queue is told. Idempotent.
  void Close();
  void NotifyConfigChanged();

 private:
  std::vector<std::shared_ptr<QueueLink>> AttachedLinks() const;  // virtqueues; under mutex_
  bool IsEmpty() const;                                           // under mutex_

  const InstanceIdentity identity_;
  mutable std::mutex mutex_;
  InstanceState state_;
  bool closing_ = false;
  bool had_queue_ = false;
  bool was_driven_ = false;                          // DRIVER_OK was set
  std::shared_ptr<QueueLink> control_;               // null: gone
  std::vector<std::shared_ptr<QueueLink>> queues_;   // by index; null: free
  std::map<uint16_t, uint16_t> chosen_queue_sizes_;  // `ref` set_queue_size
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_TARGET_INSTANCE_H_
