// SPDX-License-Identifier: Apache-2.0
//
// One queue's connection as a reactor sees it: something to poll, to sleep on, and to let go of.
//
//   reactor->Add(std::make_unique<StreamConnection<TcpStream>>(std::move(stream),
//   std::move(engine)));
//
// Type erasure sits here: one virtual call per poll, never per request. All calls come from the
// reactor's thread; `Connection` is made on any thread before it is added.
#ifndef VOF_CORE_RUNTIME_CONNECTION_H_
#define VOF_CORE_RUNTIME_CONNECTION_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "core/base/buffer.h"
#include "core/base/limits.h"
#include "core/base/time.h"
#include "core/engine/stream_engine.h"

namespace vof {

// What a connection waits for while it sleeps. A descriptor of -1 is not waited for.
struct WaitSet {
  int transport_fd = -1;
  bool want_read = false;
  bool want_write = false;
  int work_fd = -1;         // readable when Advance has something to do
  bool poll_again = false;  // outstanding work without a descriptor: poll again soon
  bool operator==(const WaitSet&) const = default;
};

// What one of `num_active` connections may send, and receive, in a turn.
constexpr size_t TurnShareBytes(size_t num_active) {
  return std::clamp(kTurnBytes / std::max<size_t>(num_active, 1), kMinTurnShareBytes,
                    kMaxTurnShareBytes);
}

enum class PollResult : uint8_t {
  kIdle,      // nothing moved: may sleep
  kDrained,   // something moved and all that was there is done: may sleep
  kProgress,  // something moved and more may be there: poll again before sleeping
};

class Connection {
 public:
  virtual ~Connection() = default;

  // One turn within a budget: receive, handle, act, send. `scratch` is the reactor's receive
  // buffer. Also called when the transport is closed, until finished().
  virtual PollResult Poll(MonotonicTime now, MutableBuffer scratch) = 0;
  // Arms notifications. False: there is something to do now, poll instead of sleeping. Descriptors
  // in `wait` stay open until the connection is destroyed or a later call no longer names them.
  virtual bool PrepareToSleep(WaitSet* wait) = 0;
  virtual MonotonicTime NextDeadline() const = 0;
  virtual void OnTimer(MonotonicTime now) = 0;
  // Ends the transport; the connection finishes when the engine has nothing outstanding.
  virtual void Close(CloseReason reason, MonotonicTime now) = 0;
  virtual bool finished() const = 0;
  virtual std::string Describe() const = 0;
  // A hook that asks the reactor for a Poll soon; set by Reactor::Add before any other call. It may
  // be called inside any call of the connection, which it never re-enters.
  virtual void SetWake(std::function<void()> wake) { (void)wake; }

 protected:
  size_t turn_share_bytes() const { return turn_share_bytes_; }

 private:
  friend class Reactor;
  size_t turn_share_bytes_ = kMaxTurnShareBytes;
  void* reactor_entry_ = nullptr;  // where Reactor::Wake finds what it knows about this connection
};

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_CONNECTION_H_
