// SPDX-License-Identifier: Apache-2.0
//
// One core's worth of connections: polls them, fires their timers, sleeps when there is nothing to do.
//
//   auto reactor = Reactor::Create({.name = "target-0", .spin = Milliseconds(0)});
//   std::thread thread([&] { (*reactor)->Run(); });
//   (*reactor)->Post([&] { (*reactor)->Add(std::move(connection)); });
//   (*reactor)->Stop(); thread.join();
//
// A connection that had something to do stays on the active list and is polled without a system call for
// `spin`; then it is armed and the reactor sleeps in epoll_wait. Busy polling never sleeps. Every method but
// Post, Stop and the constructor belongs to the thread that runs the reactor (checked in debug builds).
#ifndef VOF_CORE_RUNTIME_REACTOR_H_
#define VOF_CORE_RUNTIME_REACTOR_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/executor.h"
#include "core/base/limits.h"
#include "core/base/time.h"
#include "core/memory/buffer_pool.h"
#include "core/runtime/connection.h"

namespace vof {

struct ReactorOptions {
  std::string name = "reactor";
  bool busy_poll = false;          // never sleep
  Nanoseconds spin = 0;            // how long an idle connection is polled before the reactor sleeps
  int cpu = -1;                    // pin the running thread to it; -1: do not
  size_t pool_bytes = kDefaultPoolBytes;
  size_t scratch_bytes = kScratchBytes;
};

class Reactor final : public Executor {
 public:
  // Errors name what the kernel refused (descriptor limit, CPU that is not there).
  static absl::StatusOr<std::unique_ptr<Reactor>> Create(const ReactorOptions& options);
  ~Reactor();  // not running; every connection is closed and destroyed, posted work is dropped

  // Any thread.
  void Post(std::function<void()> work) override;
  void Stop();  // Run() returns soon; idempotent

  // Runs until Stop().
  void Run();
  // One turn; sleeps at most `max_wait` when there is nothing to do (0: do not sleep).
  void RunOnce(Nanoseconds max_wait);

  // The reactor polls and owns it until it is finished. `on_finished` (may be empty) is called just before
  // it is destroyed, on this thread.
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
  MonotonicTime now() const { return now_; }  // of this turn
  const ReactorOptions& options() const { return options_; }
  bool InOwnThread() const { return owner_ == std::thread::id() || owner_ == std::this_thread::get_id(); }

 private:
  struct Entry;
  struct TimerEntry;
  // The owner of this file fills this in.
  explicit Reactor(const ReactorOptions& options);

  ReactorOptions options_;
  BufferPool pool_;
  MonotonicTime now_ = 0;
  std::thread::id owner_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_REACTOR_H_
