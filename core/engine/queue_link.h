// SPDX-License-Identifier: Apache-2.0
//
// How the control plane of a target reaches a queue that lives on another thread and may be gone by
// then.
//
//   auto link = std::make_shared<QueueLink>(executor);   // by the engine, which sets link->queue
//   to itself PostToQueue(link, [state](AttachedQueue& queue) { queue.OnInstanceState(state); });
//
//   auto gather = std::make_shared<Gather>(links.size(), executor, [] { ... all arrived ... });
//   ... gather->Arrive() by each, from any thread ...
//
// `queue` is read and written on the executor's thread only; the engine nulls it when it ends.
#ifndef VOF_CORE_ENGINE_QUEUE_LINK_H_
#define VOF_CORE_ENGINE_QUEUE_LINK_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "core/base/executor.h"
#include "core/base/time.h"
#include "core/engine/queue_end.h"
#include "core/wire/command.h"

namespace vof {

class TargetInstance;

// What every queue of an instance has to know.
struct InstanceState {
  uint32_t status = 0;  // virtio device status
  uint64_t driver_features = 0;
  uint64_t transport_features = 0;  // accepted ones
  // Keyed queues with INLINE: what may travel in a command's message, and in a completion's.
  uint32_t inline_request_bytes = 0;
  uint32_t inline_completion_bytes = 0;
};

// Waits for a number of arrivals, then posts `done` to `executor`.
class Gather {
 public:
  Gather(size_t count, Executor* executor, std::function<void()> done)
      : missing_(count), executor_(executor), done_(std::move(done)) {}
  // Any thread, `count` times in all.
  void Arrive() {
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) executor_->Post(std::move(done_));
  }

 private:
  std::atomic<size_t> missing_;
  Executor* const executor_;
  std::function<void()> done_;
};

// A queue's engine as its instance sees it. Called on the queue's own thread.
class AttachedQueue {
 public:
  virtual void OnInstanceState(const InstanceState& state) = 0;
  // Takes no more requests, finishes those in flight, then arrives at `done` (at the latest after
  // the reset time-out, having closed itself).
  virtual void OnReset(const InstanceState& state, std::shared_ptr<Gather> done) = 0;
  // The instance ends: the control queue is gone, or a newer session replaced this one.
  virtual void OnInstanceClosed() = 0;
  // The answer of a control command that could not be given at once.
  virtual void OnControlReply(CommandKind kind, const Completion& completion) = 0;
  // The device changed its configuration.
  virtual void OnConfigChanged() = 0;
  // The target goes down: takes the commands that the peer has sent by now and no more, and closes
  // when they are answered. A peer that makes no progress with what it owes is cut off after
  // `stall_timeout`, so that the memory it holds goes to those who can use it. Idempotent.
  virtual void BeginDrain(Nanoseconds stall_timeout) = 0;
  virtual bool is_control_queue() const = 0;

  // --- For reports ---
  virtual const TargetInstance& instance() const = 0;
  // Settled once the transport is closed.
  virtual const QueueEnd& end() const = 0;
  // Whether nothing was left to answer when the drain began, and nothing came.
  virtual bool drained_idle() const = 0;
  virtual QueueCounters counters() const = 0;

 protected:
  ~AttachedQueue() = default;
};

struct QueueLink {
  explicit QueueLink(Executor* e) : executor(e) {}
  Executor* const executor;
  AttachedQueue* queue = nullptr;
};

// Runs `work(queue)` on the queue's thread if the queue still exists then; returns at once. Any
// thread.
template <typename Work>
void PostToQueue(const std::shared_ptr<QueueLink>& link, Work work) {
  link->executor->Post([link, work = std::move(work)]() mutable {
    if (link->queue != nullptr) work(*link->queue);
  });
}

}  // namespace vof

#endif  // VOF_CORE_ENGINE_QUEUE_LINK_H_
