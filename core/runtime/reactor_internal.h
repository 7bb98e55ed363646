// SPDX-License-Identifier: Apache-2.0
//
// What a reactor keeps for each connection, timer and watched descriptor. For reactor*.cc only.
#ifndef VOF_CORE_RUNTIME_REACTOR_INTERNAL_H_
#define VOF_CORE_RUNTIME_REACTOR_INTERNAL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "core/base/time.h"
#include "core/runtime/connection.h"
#include "core/runtime/reactor.h"
#include "core/runtime/timer_heap.h"

namespace vof {

// What an event of epoll points at.
struct Reactor::EventTarget {
  enum class Kind : uint8_t { kMailbox, kWatched, kTransport, kWork };
  Kind kind;
  void* owner;
};

// A node of the heap: a connection's deadline, or a timer of AddTimer.
struct Reactor::Timer : TimerNode {
  explicit Timer(uint64_t t) : token(t) {}
  uint64_t token;  // 0: the node is an Entry
  std::function<void()> fire;
};

struct Reactor::Entry : Reactor::Timer {
  Entry() : Timer(0) {}

  std::unique_ptr<Connection> connection;
  std::function<void(Connection*)> on_finished;
  size_t index = 0;  // in entries_

  bool active = false;  // in active_
  bool woken = false;   // since the last poll
  // Quiet for long, and cannot sleep: is polled in some turns only.
  bool restless = false;
  uint64_t polled_in_turn = 0;
  MonotonicTime moved_at = 0;

  WaitSet armed;             // as asked for when it last went to sleep
  int work_fd_watched = -1;  // stays watched while nobody waits for it: see Arm
  EventTarget transport_target{EventTarget::Kind::kTransport, this};
  EventTarget work_target{EventTarget::Kind::kWork, this};
};

struct Reactor::Watched {
  int fd = -1;
  bool alive = true;
  std::function<void()> ready;
  EventTarget target{EventTarget::Kind::kWatched, this};
};

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_REACTOR_INTERNAL_H_
