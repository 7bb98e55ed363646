// SPDX-License-Identifier: Apache-2.0
//
// A reactor in virtual time: polls, wakes and times connections by the rules of the real one
// (core/runtime/reactor.h), one step at a time and in an order that the seed decides.
//
//   SimReactor reactor(&now, /*scratch_bytes=*/4096);
//   reactor.Add(std::move(connection), wire, SimWire::kTarget, on_finished);
//   while (reactor.has_work()) reactor.Step(random);
//
// A connection that sleeps is polled only for the reasons that would wake it in production, so a
// wake-up that an engine forgets shows as a session that stands still. Posts run in order.
#ifndef VOF_TESTING_SIM_SIM_REACTOR_H_
#define VOF_TESTING_SIM_SIM_REACTOR_H_

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/loopback/faults.h"
#include "core/base/executor.h"
#include "core/base/limits.h"
#include "core/base/time.h"
#include "core/engine/engine_host.h"
#include "core/memory/buffer_pool.h"
#include "core/runtime/connection.h"
#include "testing/sim/sim_wire.h"

namespace vof {

class SimReactor final : public Executor {
 public:
  using OnFinished = std::function<void(Connection*)>;
  using OnDeaf = std::function<void()>;

  SimReactor(const MonotonicTime* now, size_t scratch_bytes)
      : now_(now), pool_(kMinPoolBytes), scratch_(scratch_bytes) {}

  EngineHost host() { return {this, &pool_}; }
  BufferPool& pool() { return pool_; }
  size_t num_connections() const { return entries_.size(); }

  void Post(std::function<void()> work) override { posts_.push_back(std::move(work)); }

  // With `on_deaf` the connection is never told of anything that comes (a bug, for the checkers),
  // and `on_deaf` is called when it has slept through something for a second: nothing else woke it.
  void Add(std::unique_ptr<Connection> connection, std::shared_ptr<SimWire> wire, int side,
           OnFinished on_finished, OnDeaf on_deaf = nullptr) {
    auto entry = std::make_unique<Entry>();
    entry->connection = std::move(connection);
    entry->wire = std::move(wire);
    entry->side = side;
    entry->on_finished = std::move(on_finished);
    entry->on_deaf = std::move(on_deaf);
    entry->connection->SetWake([e = entry.get()] { e->Wake(); });
    entries_.push_back(std::move(entry));
  }
  // Whoever called a connection directly (Close) makes sure that it is polled.
  void Wake(Connection* connection) {
    for (auto& entry : entries_) {
      if (entry->connection.get() == connection) entry->Wake();
    }
  }
  void ForEach(const std::function<void(Connection*)>& visit) {
    for (size_t i = 0; i < entries_.size(); ++i) visit(entries_[i]->connection.get());
  }

  bool has_work() const {
    return !posts_.empty() ||
           std::any_of(entries_.begin(), entries_.end(), [](const auto& e) { return e->Runs(); });
  }
  // The time of the next timer. Like the real one it may be earlier than needed.
  MonotonicTime NextDeadline() const {
    MonotonicTime next = kInfiniteFuture;
    for (const auto& entry : entries_) next = std::min(next, entry->timer);
    return next;
  }

  // Fires what is due, then runs one post or one poll. Returns whether anything moved.
  bool Step(FaultRandom& random) {
    for (auto& entry : entries_) entry->NoteDeafness(*now_);
    FireTimers();
    std::vector<Entry*> runnable;
    for (auto& entry : entries_) {
      if (entry->Runs()) runnable.push_back(entry.get());
    }
    const size_t choices = runnable.size() + (posts_.empty() ? 0 : 1);
    if (choices == 0) return false;
    const size_t choice = random.Below(choices);
    if (choice < runnable.size()) return PollEntry(runnable[choice]);
    const std::function<void()> work = std::move(posts_.front());
    posts_.pop_front();
    work();
    return true;
  }

  // Destroys what is left after a run that failed, while other reactors are still there: destroyed
  // connections post to each other. False: nothing was left.
  bool Abandon() {
    const auto entries = std::exchange(entries_, {});
    const auto posts = std::exchange(posts_, {});
    return !entries.empty() || !posts.empty();
  }

  std::string Describe() const {
    std::string text;
    for (const auto& entry : entries_) {
      text += "  " + entry->connection->Describe() + (entry->Runs() ? " (runs)\n" : " (sleeps)\n");
    }
    return text;
  }

 private:
  struct Entry {
    std::unique_ptr<Connection> connection;
    std::shared_ptr<SimWire> wire;
    int side = 0;
    OnFinished on_finished;
    OnDeaf on_deaf;  // not empty: it is deaf
    MonotonicTime misses_since = kInfiniteFuture;
    WaitSet wait;
    MonotonicTime timer = kInfiniteFuture;
    bool active = true;
    bool woken = false;

    void Wake() { woken = active = true; }
    bool IsCalled() const {
      return wire != nullptr &&
             ((wait.want_read && wire->CanRead(side)) || (wait.want_write && wire->CanWrite(side)));
    }
    bool Runs() const { return active || (on_deaf == nullptr && IsCalled()); }
    void NoteDeafness(MonotonicTime now) {
      if (on_deaf == nullptr) return;
      if (active || !IsCalled()) {
        misses_since = kInfiniteFuture;
      } else if (misses_since == kInfiniteFuture) {
        misses_since = now;
      } else if (now - misses_since >= kNanosecondsPerSecond) {
        on_deaf();
      }
    }
  };

  void FireTimers() {
    for (size_t i = 0; i < entries_.size(); ++i) {
      Entry& entry = *entries_[i];
      if (entry.timer > *now_) continue;
      entry.timer = kInfiniteFuture;
      if (entry.connection->NextDeadline() <= *now_) {
        entry.connection->OnTimer(*now_);
        entry.Wake();
      } else {
        entry.timer = entry.connection->NextDeadline();
      }
    }
  }

  bool PollEntry(Entry* entry) {
    entry->woken = false;
    const PollResult result =
        entry->connection->Poll(*now_, MutableBuffer(scratch_.data(), scratch_.size()));
    // Whoever kept a pointer into the receive buffer finds garbage there.
    std::fill_n(scratch_.begin(), std::min<size_t>(scratch_.size(), 4096), std::byte{0xdb});
    if (entry->connection->finished()) {
      Destroy(entry);
      return true;
    }
    entry->timer = std::min(entry->timer, entry->connection->NextDeadline());
    entry->active = true;
    if (result != PollResult::kProgress && !entry->woken) {
      const bool sleeps = entry->connection->PrepareToSleep(&entry->wait);
      entry->active = !sleeps || entry->wait.poll_again;
    }
    return result != PollResult::kIdle;
  }

  void Destroy(Entry* entry) {
    const auto it = std::find_if(entries_.begin(), entries_.end(),
                                 [entry](const auto& e) { return e.get() == entry; });
    const std::unique_ptr<Entry> owned = std::move(*it);
    entries_.erase(it);
    if (owned->on_finished) owned->on_finished(owned->connection.get());
  }

  const MonotonicTime* const now_;
  BufferPool pool_;
  std::vector<std::byte> scratch_;
  std::deque<std::function<void()>> posts_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace vof

#endif  // VOF_TESTING_SIM_SIM_REACTOR_H_
