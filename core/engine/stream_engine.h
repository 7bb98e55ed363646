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
#include <span>

#include "core/base/buffer.h"
#include "core/base/time.h"
#include "core/engine/queue_engine.h"

namespace vof {

class StreamEngine : public QueueEngine {
 public:
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

  // --- Sending ---
  // Fills `from` with bytes to send, in order, and returns how many entries it filled; 0 when there
  // are none. They stay valid until OnWritten has consumed them.
  virtual int PrepareWrite(std::span<ConstBuffer> from) = 0;
  virtual void OnWritten(size_t bytes) = 0;
  virtual bool wants_write() const = 0;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_STREAM_ENGINE_H_
