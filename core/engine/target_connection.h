// SPDX-License-Identifier: Apache-2.0
//
// What a target attaches to each accepted stream: reads the Connect, asks the directory, becomes
// the queue.
//
//   auto engine = std::make_unique<TargetConnection>(host, &directory, link->peer(), now);
//   reactor->Add(link->Attach(std::move(engine)));
//
// Detects the dialect from the first 16 bytes (docs/protocol.md). Never reads past the Connect
// before it is answered. A refused Connect is answered and then closed; what is no Connect, or
// comes too slowly, is closed without an answer. One thread.
#ifndef VOF_CORE_ENGINE_TARGET_CONNECTION_H_
#define VOF_CORE_ENGINE_TARGET_CONNECTION_H_

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "core/engine/engine_host.h"
#include "core/engine/queue_link.h"
#include "core/engine/stream_engine.h"
#include "core/engine/target_directory.h"
#include "core/engine/target_events.h"
#include "core/transport/byte_stream.h"
#include "core/wire/codec.h"

namespace vof {

class TargetConnection final : public StreamEngine {
 public:
  TargetConnection(const EngineHost& host, TargetDirectory* directory, PeerIdentity peer,
                   MonotonicTime now);
  ~TargetConnection() override;

  // The target goes down: a queue answers what it was sent, then closes
  // (AttachedQueue::BeginDrain); a handshake is cut off. A control queue takes its instance with
  // it, so its virtqueues go first.
  void BeginDrain(Nanoseconds stall_timeout = kStallTimeout);
  // It has ended by a drain, nobody waits for an answer: the transport need not linger.
  bool drained_idle() const { return finished() && (!queue_ || link_->queue->drained_idle()); }
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
  QueueCounters counters() const { return queue_ ? link_->queue->counters() : QueueCounters(); }
  // The device does not give back its requests although the connection is closed: tells the
  // observer.
  void ReportHeld() const;

  // --- StreamEngine ---
  int PrepareRead(MutableBuffer scratch, std::span<MutableBuffer> into) override;
  void OnRead(size_t bytes, MonotonicTime now) override;
  bool wants_read() const override {
    return queue_ ? queue_->wants_read() : phase_ == Phase::kCollecting;
  }
  bool Advance(MonotonicTime now) override;
  bool has_pending_work() const override { return queue_ && queue_->has_pending_work(); }
  int work_fd() const override { return queue_ ? queue_->work_fd() : -1; }
  int PrepareWrite(std::span<ConstBuffer> from) override;
  void OnWritten(size_t bytes) override;
  bool wants_write() const override {
    return queue_ ? queue_->wants_write()
                  : phase_ == Phase::kRefused && refusal_sent_bytes_ < refusal_.size();
  }
  MonotonicTime NextDeadline() const override;
  void OnTimer(MonotonicTime now) override;
  bool wants_close() const override {
    return queue_ ? queue_->wants_close() : phase_ == Phase::kRefused || phase_ == Phase::kClosing;
  }
  bool flush_before_close() const override {
    return queue_ ? queue_->flush_before_close() : phase_ == Phase::kRefused;
  }
  void OnClosed(CloseReason reason, int error, MonotonicTime now) override;
  bool finished() const override { return queue_ ? queue_->finished() : phase_ == Phase::kClosed; }
  std::string Describe() const override;

 private:
  enum class Phase : uint8_t {
    kCollecting,  // the bytes of Connect
    kWaiting,     // for the directory
    kRefused,     // the answer is on its way out
    kClosing,     // without an answer
    kClosed,
  };
  // How a late answer finds this connection.
  struct Handle {
    TargetConnection* connection = nullptr;
  };

  void OnHeader();
  void OnConnect();
  void ConnectControl(ConnectRequest request);
  void ConnectQueue(const ConnectRequest& request);
  void OnControlGranted(const ControlGrant& grant);
  template <Codec C>
  void StartControl(std::shared_ptr<ControlPlace> place);
  template <Codec C>
  void StartQueue(QueueGrant grant, std::unique_ptr<DeviceQueue> device);
  void Run(std::unique_ptr<StreamEngine> queue);
  void Refuse(Cause cause, std::string why = "");
  TargetEvent NewEvent(TargetEventKind kind) const;
  void Tell(const TargetEvent& event) const {
    if (observer_) observer_(event);
  }
  void CloseWithoutAnswer(std::string reason);

  static constexpr size_t kLongestConnect = kHeaderBytes + 24 + kConnectBodyBytes;

  const EngineHost host_;
  TargetDirectory* const directory_;
  const PeerIdentity peer_;
  const std::shared_ptr<Handle> handle_;
  const std::shared_ptr<QueueLink> link_;
  bool admitted_ = false;
  Phase phase_ = Phase::kCollecting;
  MonotonicTime now_;
  MonotonicTime deadline_;

  Dialect dialect_ = Dialect::kV5;
  Command connect_;
  size_t wanted_bytes_ = kHeaderBytes;
  size_t received_bytes_ = 0;
  std::array<std::byte, kLongestConnect> received_;
  std::array<std::byte, kHeaderBytes> refusal_{};
  size_t refusal_sent_bytes_ = 0;
  std::string end_reason_;
  TargetObserver observer_;
  std::string initiator_name_, target_name_;  // as received

  std::function<void()> on_virtqueue_;
  std::unique_ptr<StreamEngine> queue_;  // once connected
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_TARGET_CONNECTION_H_
