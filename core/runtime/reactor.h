// SPDX-License-Identifier: Apache-2.0
//
// One core's worth of connections: polls them, fires their timers, sleeps when there is nothing to
// do.
//
//   auto reactor = Reactor::Create({.name = "target-0", .spin = Milliseconds(0)});
//   std::thread thread([&] { (*reactor)->Run(); });
//   (*reactor)->Post([&] { (*reactor)->Add(std::move(connection)); });
//   (*reactor)->Stop(); thread.join();
//
// A connection that had something to do stays on the active list and is polled directly, without
// asking epoll, for `spin`; then it is armed and, when the list is empty, the reactor sleeps in
// epoll_wait. So a turn costs what is ready, however many connections are idle. Busy polling never
// sleeps; connections that were quiet for a while are left to epoll even then, so that they do not
// slow the busy ones. Every method but Post and Stop belongs to the thread that runs the reactor
// (checked in debug builds).
#ifndef VOF_CORE_RUNTIME_REACTOR_H_
#define VOF_CORE_RUNTIME_REACTOR_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/buffer.h"
#include "core/base/executor.h"
#include "core/base/limits.h"
#include "core/base/time.h"
#include "core/memory/buffer_pool.h"
#include "core/runtime/connection.h"
#include "core/runtime/epoll_set.h"
#include "core/runtime/mailbox.h"
#include "core/runtime/pool_registrations.h"
#include "core/runtime/timer_heap.h"

namespace vof {
class Reactor;
}

// Of a reactor that does not run: posted work is dropped, every connection is closed, driven until
// its device requests have completed, and destroyed. A device that keeps some beyond
// `device_timeout` still writes to their memory, so the reactor then lives on, on a thread of its
// own, and goes with the last of them; `on_finished` is not called any more.
template <>
struct std::default_delete<vof::Reactor> {
  void operator()(vof::Reactor* reactor) const;
};

namespace vof {

struct ReactorOptions {
  std::string name = "reactor";
  bool busy_poll = false;  // never sleep
  Nanoseconds spin = 0;    // how long an idle connection is polled before the reactor sleeps
  int cpu = -1;            // pin the running thread to it; -1: do not
  size_t pool_bytes = kDefaultPoolBytes;
  size_t scratch_bytes = kScratchBytes;
  // How long a reactor that is deleted waits for devices to complete what its connections hold.
  Nanoseconds device_timeout = kDeviceTimeout;
  // Told, by whoever deletes it, of each connection that was not finished by then.
  std::function<void(std::string_view connection)> on_held = nullptr;
};

class Reactor final : public Executor {
 public:
  // Errors name what the kernel refused (descriptor limit, CPU that is not there).
  static absl::StatusOr<std::unique_ptr<Reactor>> Create(const ReactorOptions& options);
  // Any thread.
  void Post(std::function<void()> work) override;
  void Stop();  // Run() returns soon; idempotent

  // Runs until Stop().
  void Run();
  // One turn; sleeps at most `max_wait` when there is nothing to do (0: do not sleep).
  void RunOnce(Nanoseconds max_wait);

  // The reactor polls and owns it until it is finished; a closed one is noticed after a Wake.
  // `on_finished` (may be empty) is called just before it is destroyed, on this thread.
  void Add(std::unique_ptr<Connection> connection,
           std::function<void(Connection*)> on_finished = nullptr);
  // Something outside gave the connection work (a Submit): poll it in this turn.
  void Wake(Connection* connection);
  void ForEachConnection(const std::function<void(Connection*)>& visit);
  size_t num_connections() const { return entries_.size(); }

  // Calls `ready` when `fd` is readable, until Unwatch. Level-triggered.
  absl::Status Watch(int fd, std::function<void()> ready);
  void Unwatch(int fd);
  // Calls `fire` once at or after `when`; returns a token for CancelTimer.
  uint64_t AddTimer(MonotonicTime when, std::function<void()> fire);
  void CancelTimer(uint64_t token);

  BufferPool& pool() { return pool_; }
  PoolRegistrations& registrations() { return registrations_; }
  MonotonicTime now() const { return now_; }  // of this turn
  const ReactorOptions& options() const { return options_; }
  // True also while no thread runs the reactor. Any thread.
  bool InOwnThread() const {
    const std::thread::id owner = owner_.load(std::memory_order_relaxed);
    return owner == std::thread::id() || owner == std::this_thread::get_id();
  }

 private:
  friend struct std::default_delete<Reactor>;
  struct EventTarget;
  struct Entry;
  struct Timer;
  struct Watched;
  struct Due {
    Entry* entry;    // null: a timer of AddTimer
    uint64_t token;  // may be cancelled by now
  };

  explicit Reactor(const ReactorOptions& options);
  absl::Status Open();
  void EnterThread();

  // The steps of a turn (reactor.cc).
  void Turn(Nanoseconds max_wait);
  void TakeEvents(Nanoseconds max_wait);
  bool EventCheckDue();
  void DispatchAll(std::span<const epoll_event> events);
  void Dispatch(std::span<const epoll_event> events);
  void RunMail();
  void FireTimers();
  void CloseAll();
  bool DriveToTheEnd(MonotonicTime give_up);
  void LetGo();
  ~Reactor();

  // Connections (reactor_connections.cc).
  void PollActive();
  bool PollEntry(Entry* entry);
  bool PutToSleep(Entry* entry);
  bool Arm(Entry* entry, const WaitSet& wait);
  void Activate(Entry* entry);
  void WakeEntry(Entry* entry);
  void UpdateDeadline(Entry* entry);
  void Destroy(Entry* entry);
  Nanoseconds SpinTime() const;

  ReactorOptions options_;
  BufferPool pool_;
  PoolRegistrations registrations_{&pool_};
  MutableBuffer scratch_;
  MonotonicTime now_ = 0;
  uint64_t turn_ = 0;
  std::atomic<std::thread::id> owner_{};
  std::atomic<bool> stop_{false};

  Mailbox mailbox_;
  std::vector<std::function<void()>> mail_;  // being run
  EpollSet epoll_;
  int turns_since_check_ = 0;
  bool moved_since_check_ = false;
  MonotonicTime last_check_ = 0;

  TimerHeap timer_heap_;
  std::unordered_map<uint64_t, std::unique_ptr<Timer>> timers_;
  uint64_t last_token_ = 0;
  std::vector<Due> due_;

  std::unique_ptr<EventTarget> mailbox_target_;
  std::unordered_map<int, std::unique_ptr<Watched>> watched_;
  std::vector<std::unique_ptr<Watched>> unwatched_;  // kept until no event can name them

  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<Entry*> active_;  // polled in every turn
};

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_REACTOR_H_
