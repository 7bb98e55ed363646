// SPDX-License-Identifier: Apache-2.0
//
// What every engine of a queue offers, however its bytes travel: acting, time, endings, waking.
//
//   engine.Advance(now);                              // device batches, completions, answers
//   if (now >= engine.NextDeadline()) engine.OnTimer(now);
//   if (engine.wants_close()) { ... engine.OnClosed(CloseReason::kLocal, 0, now); }
//
// stream_engine.h and message_engine.h add how bytes come and go. One thread; no I/O, no clock.
#ifndef VOF_CORE_ENGINE_QUEUE_ENGINE_H_
#define VOF_CORE_ENGINE_QUEUE_ENGINE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "core/base/time.h"

namespace vof {

enum class CloseReason : uint8_t {
  kPeerClosed,  // orderly end of the peer's bytes
  kPeerReset,   // the transport broke
  kLocal,       // our own side asked for it
};

class QueueEngine {
 public:
  virtual ~QueueEngine() = default;

  // --- Acting ---
  // Submits what was received, reaps asynchronous work, turns completions into output. Returns true
  // when something moved, so that the caller comes back soon.
  virtual bool Advance(MonotonicTime now) = 0;
  // Work outstanding that only Advance can finish and that no byte from the peer will announce (a
  // device queue with requests in flight). `work_fd` becomes readable then, or is -1: call Advance
  // again soon.
  virtual bool has_pending_work() const = 0;
  virtual int work_fd() const = 0;

  // --- Time ---
  virtual MonotonicTime NextDeadline() const = 0;
  virtual void OnTimer(MonotonicTime now) = 0;

  // --- Ending ---
  // The engine wants the transport closed: at once, or after its output is sent (`flush`).
  virtual bool wants_close() const = 0;
  virtual bool flush_before_close() const = 0;
  // The transport is closed. No I/O call follows; Advance goes on until finished().
  virtual void OnClosed(CloseReason reason, int error, MonotonicTime now) = 0;
  // Closed, and nothing outstanding at the device: the engine may be destroyed.
  virtual bool finished() const = 0;
  // Why it ended or what it is, for logs: "v5 control queue of 'disk0' from 'vqn.host'".
  virtual std::string Describe() const = 0;

  // --- Waking ---
  // Set by whoever drives the engine before any other call; the engine calls Wake() when it got
  // work from elsewhere than the calls above (a Submit, memory back in the pool) and so wants to be
  // driven soon. The hook only notes it: it never calls the engine back. The engine's thread;
  // cheap, may be called often.
  void set_wake(std::function<void()> wake) { wake_ = std::move(wake); }

 protected:
  void Wake() const {
    if (wake_) wake_();
  }

 private:
  std::function<void()> wake_;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_QUEUE_ENGINE_H_
