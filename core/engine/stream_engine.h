// SPDX-License-Identifier: Apache-2.0
//
// What a connection over a byte stream drives: one queue's protocol, without I/O, clock or thread.
//
//   int n = engine.PrepareRead(scratch, iovecs);      // where the next bytes of the stream go
//   engine.OnRead(bytes_read, now);                   // everything that was read is consumed
//   engine.Advance(now);                              // act: device batches, completions, answers
//   n = engine.PrepareWrite(iovecs);                  // gathered output
//   engine.OnWritten(bytes_written);
//   if (now >= engine.NextDeadline()) engine.OnTimer(now);
//
// The order of one turn: PrepareRead/OnRead (as often as the budget allows), Advance,
// PrepareWrite/OnWritten until it returns 0 or the stream is full. One virtual call per batch,
// never per request. An engine is called from one thread. The same engines run in production and in
// the simulator.
#ifndef VOF_CORE_ENGINE_STREAM_ENGINE_H_
#define VOF_CORE_ENGINE_STREAM_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "core/base/buffer.h"
#include "core/base/time.h"

namespace vof {

enum class CloseReason : uint8_t {
  kPeerClosed,  // orderly end of the peer's bytes
  kPeerReset,   // the transport broke
  kLocal,       // our own side asked for it
};

class StreamEngine {
 public:
  virtual ~StreamEngine() = default;

  // --- Receiving ---
  // Fills `into` with the places for the next bytes of the stream, in order: first what is left of
  // a large payload, then `scratch`, which is shared by all connections of the reactor and valid
  // until OnRead returns. Returns how many entries it filled; 0 when the engine does not want to
  // read now (back-pressure)
  // - then it will want to later without new input, after Advance or OnWritten.
  virtual int PrepareRead(MutableBuffer scratch, std::span<MutableBuffer> into) = 0;
  // `bytes` arrived in the places of the last PrepareRead. Consumes them all.
  virtual void OnRead(size_t bytes, MonotonicTime now) = 0;
  // True while PrepareRead would return more than 0.
  virtual bool wants_read() const = 0;

  // --- Acting ---
  // Submits what was received, reaps asynchronous work, turns completions into output. Returns true
  // when something moved, so that the caller comes back soon.
  virtual bool Advance(MonotonicTime now) = 0;
  // Work outstanding that only Advance can finish and that no byte from the peer will announce (a
  // device queue with requests in flight). `work_fd` becomes readable then, or is -1: call Advance
  // again soon.
  virtual bool has_pending_work() const = 0;
  virtual int work_fd() const = 0;

  // --- Sending ---
  // Fills `from` with bytes to send, in order, and returns how many entries it filled; 0 when there
  // are none. They stay valid until OnWritten has consumed them.
  virtual int PrepareWrite(std::span<ConstBuffer> from) = 0;
  virtual void OnWritten(size_t bytes) = 0;
  virtual bool wants_write() const = 0;

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

#endif  // VOF_CORE_ENGINE_STREAM_ENGINE_H_
