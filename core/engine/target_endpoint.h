// SPDX-License-Identifier: Apache-2.0
//
// A target's end of one connection, whatever carries its bytes: dialect and Connect, what the
// directory says to it, and the reports about what becomes of it.
//
//   TargetEndpoint endpoint(host, &directory, peer, Transmission::kStream, now);
//   endpoint.set_hooks({.wake = ..., .start_control = ..., .start_queue = ...});
//   endpoint.OnHeader(header);                 // 16 bytes
//   endpoint.OnConnect(body);                  // a hook starts the queue, now or later
//   if (endpoint.phase() == TargetEndpoint::Phase::kRefused) Send(endpoint.refusal());
//
// TargetConnection puts it on a byte stream, TargetMessages on a message channel. One thread.
#ifndef VOF_CORE_ENGINE_TARGET_ENDPOINT_H_
#define VOF_CORE_ENGINE_TARGET_ENDPOINT_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/engine/engine_host.h"
#include "core/engine/queue_engine.h"
#include "core/engine/queue_link.h"
#include "core/engine/target_directory.h"
#include "core/engine/target_events.h"
#include "core/transport/byte_stream.h"
#include "core/wire/codec.h"

namespace vof {

class TargetEndpoint {
 public:
  enum class Phase : uint8_t {
    kCollecting,  // the bytes of Connect
    kWaiting,     // for the directory
    kRunning,     // it is a queue
    kRefused,     // the answer is on its way out
    kClosing,     // without an answer
    kClosed,
  };
  struct Hooks {
    std::function<void()> wake;
    // The Connect was granted: make the queue's engine, which sets link()->queue.
    std::function<void(std::shared_ptr<ControlPlace>)> start_control;
    std::function<void(QueueGrant, std::unique_ptr<DeviceQueue>)> start_queue;
  };

  TargetEndpoint(const EngineHost& host, TargetDirectory* directory, PeerIdentity peer,
                 Transmission transmission, MonotonicTime now);
  ~TargetEndpoint();
  TargetEndpoint(const TargetEndpoint&) = delete;
  TargetEndpoint& operator=(const TargetEndpoint&) = delete;

  void set_hooks(Hooks hooks);

  // --- Handshake ---
  // The first 16 bytes tell the dialect. False: no Connect, and the phase is kClosing.
  bool OnHeader(HeaderIn header);
  // `descriptor` is that of `ref`, or of a keyed Connect, and says where the body is. False as
  // above.
  bool CheckBodySegment(const Segment& segment);
  // What came behind the header; a `v5` virtqueue may leave the body out.
  void OnConnect(std::optional<std::span<const std::byte, kConnectBodyBytes>> body);
  const Command& connect() const { return connect_; }
  Dialect dialect() const { return dialect_; }
  Phase phase() const { return phase_; }
  std::span<const std::byte, kHeaderBytes> refusal() const { return refusal_; }
  MonotonicTime deadline() const {
    return phase_ == Phase::kCollecting || phase_ == Phase::kWaiting ? deadline_ : kInfiniteFuture;
  }
  void OnDeadline() { CloseWithoutAnswer("no complete Connect within the handshake time-out"); }
  void CloseWithoutAnswer(std::string reason);
  // The transport is closed, and the queue, if there is one, knows.
  void OnClosed();
  std::string Describe() const;

  const EngineHost& host() const { return host_; }
  TargetDirectory* directory() const { return directory_; }
  const std::shared_ptr<QueueLink>& link() const { return link_; }

  // --- For whoever owns the connections of a target ---
  // The target goes down: a queue answers what it was sent, then closes
  // (AttachedQueue::BeginDrain); a handshake is cut off. A control queue takes its instance with
  // it, so its virtqueues go first.
  void BeginDrain(Nanoseconds stall_timeout = kStallTimeout);
  // A queue that had nothing to answer when its drain began.
  bool drained_idle() const { return link_->queue == nullptr || link_->queue->drained_idle(); }
  // Told of what becomes of this connection, on its thread. Before the first byte is read.
  void set_observer(TargetObserver observer) { observer_ = std::move(observer); }
  // Called once, when it has become a virtqueue (what a balancer counts).
  void set_on_virtqueue(std::function<void()> on_virtqueue) {
    on_virtqueue_ = std::move(on_virtqueue);
  }
  // Whether it became a virtqueue (these are drained before control queues).
  bool is_virtqueue() const { return link_->queue != nullptr && !link_->queue->is_control_queue(); }
  // Whether it is the control queue of an instance that has virtqueues.
  bool has_virtqueues() const;
  // What it did as a virtqueue so far.
  QueueCounters counters() const {
    return link_->queue != nullptr ? link_->queue->counters() : QueueCounters();
  }
  // The device does not give back its requests although the connection is closed: tells the
  // observer.
  void ReportHeld() const;

 private:
  // How a late answer finds this endpoint.
  struct Handle {
    TargetEndpoint* endpoint = nullptr;
  };

  void ConnectControl(ConnectRequest request);
  void ConnectQueue(const ConnectRequest& request);
  void OnControlGranted(const ControlGrant& grant);
  // What nobody waits for any more must not begin a session.
  void StopWaiting();
  void Refuse(Cause cause, std::string why = "");
  TargetEvent NewEvent(TargetEventKind kind) const;
  void Tell(const TargetEvent& event) const {
    if (observer_) observer_(event);
  }

  const EngineHost host_;
  TargetDirectory* const directory_;
  const PeerIdentity peer_;
  const Transmission transmission_;
  const std::shared_ptr<Handle> handle_;
  const std::shared_ptr<QueueLink> link_;
  const bool admitted_;
  const MonotonicTime deadline_;
  Hooks hooks_;
  Phase phase_ = Phase::kCollecting;
  Dialect dialect_ = Dialect::kV5;
  Command connect_;
  uint64_t ticket_ = 0;  // while kWaiting
  std::array<std::byte, kHeaderBytes> refusal_{};
  std::string end_reason_;
  TargetObserver observer_;
  std::string initiator_name_, target_name_;  // as received
  std::function<void()> on_virtqueue_;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_TARGET_ENDPOINT_H_
