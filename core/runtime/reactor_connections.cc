// SPDX-License-Identifier: Apache-2.0
//
// The part of the reactor that polls connections and puts them to sleep.
#include <sys/epoll.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/base/check.h"
#include "core/base/time.h"
#include "core/runtime/reactor.h"
#include "core/runtime/reactor_internal.h"

namespace vof {
namespace {

// More active connections than this do not spin: there is enough to do without.
constexpr size_t kMaxSpinning = 16;
// A quiet connection of a busy polling reactor is left to epoll after this. Each poll of an idle
// socket is a system call that the busy ones pay for.
constexpr Nanoseconds kBusyPollPatience = 10 * kNanosecondsPerMillisecond;
// One that has been quiet as long but has no descriptor (shm) is polled in every so manieth turn: a
// control queue would make each turn of its busy virtqueue twice as long.
constexpr uint64_t kTurnsPerRestlessPoll = 16;

}  // namespace

void Reactor::Add(std::unique_ptr<Connection> connection,
                  std::function<void(Connection*)> on_finished) {
  DebugCheck(InOwnThread(), "Add is called on the reactor's thread");
  auto owned = std::make_unique<Entry>();
  Entry* entry = owned.get();
  entry->connection = std::move(connection);
  entry->on_finished = std::move(on_finished);
  entry->index = entries_.size();
  entry->moved_at = now_;
  entry->connection->reactor_entry_ = entry;
  entry->connection->SetWake([this, entry] { WakeEntry(entry); });
  entries_.push_back(std::move(owned));
  WakeEntry(entry);
}

void Reactor::Wake(Connection* connection) {
  DebugCheck(connection->reactor_entry_ != nullptr, "Wake names a connection of this reactor");
  WakeEntry(static_cast<Entry*>(connection->reactor_entry_));
}

void Reactor::WakeEntry(Entry* entry) {
  DebugCheck(InOwnThread(), "a connection is woken on its reactor's thread");
  entry->woken = true;
  Activate(entry);
}

void Reactor::Activate(Entry* entry) {
  if (entry->active) return;
  entry->active = true;
  active_.push_back(entry);
}

void Reactor::ForEachConnection(const std::function<void(Connection*)>& visit) {
  DebugCheck(InOwnThread(), "ForEachConnection is called on the reactor's thread");
  for (size_t i = 0; i < entries_.size(); ++i) visit(entries_[i]->connection.get());
}

// Polls each active connection once. Those that are woken meanwhile are appended and polled in this
// turn too, unless they were already.
void Reactor::PollActive() {
  size_t kept = 0;
  for (size_t i = 0; i < active_.size(); ++i) {
    Entry* entry = active_[i];
    const bool is_passed = entry->restless && !entry->woken && turn_ % kTurnsPerRestlessPoll != 0;
    if (entry->polled_in_turn == turn_ || is_passed || PollEntry(entry)) active_[kept++] = entry;
  }
  active_.resize(kept);
}

// False when the connection left the active list: it sleeps, or it is gone.
bool Reactor::PollEntry(Entry* entry) {
  entry->polled_in_turn = turn_;
  entry->woken = false;
  Connection& connection = *entry->connection;
  connection.turn_share_bytes_ = TurnShareBytes(active_.size());
  const PollResult result = connection.Poll(now_, scratch_);
  if (connection.finished()) {
    Destroy(entry);
    return false;
  }
  UpdateDeadline(entry);
  if (result != PollResult::kIdle) {
    entry->moved_at = now_;
    moved_since_check_ = true;
  }
  entry->restless = false;
  if (result == PollResult::kProgress || entry->woken) return true;
  const Nanoseconds quiet = now_ - entry->moved_at;
  if (quiet < SpinTime()) return true;
  if (PutToSleep(entry)) return false;
  entry->restless = quiet >= kBusyPollPatience;
  return true;
}

Nanoseconds Reactor::SpinTime() const {
  if (options_.busy_poll) return kBusyPollPatience;
  return active_.size() <= kMaxSpinning ? options_.spin : 0;
}

bool Reactor::PutToSleep(Entry* entry) {
  WaitSet wait;
  if (!entry->connection->PrepareToSleep(&wait)) return false;
  if (wait.poll_again || !Arm(entry, wait)) return false;
  entry->active = false;
  return true;
}

// The transport is watched for exactly what is asked. A work descriptor stays watched when nobody
// waits for it, because it mostly will be again after the next request; if it fires meanwhile it is
// dropped.
bool Reactor::Arm(Entry* entry, const WaitSet& wait) {
  if (wait == entry->armed) return true;
  if (wait.transport_fd != entry->armed.transport_fd) {
    epoll_.Clear(entry->armed.transport_fd, &entry->transport_target);
  }
  if (wait.work_fd >= 0 && wait.work_fd != entry->work_fd_watched) {
    epoll_.Clear(entry->work_fd_watched, &entry->work_target);
    entry->work_fd_watched = -1;
  }
  entry->armed = WaitSet{};
  if (wait.transport_fd >= 0) {
    const uint32_t events =
        (wait.want_read ? uint32_t{EPOLLIN} : 0u) | (wait.want_write ? uint32_t{EPOLLOUT} : 0u);
    entry->armed.transport_fd = wait.transport_fd;
    if (!epoll_.Set(wait.transport_fd, events, &entry->transport_target).ok()) return false;
  }
  if (wait.work_fd >= 0) {
    if (!epoll_.Set(wait.work_fd, EPOLLIN, &entry->work_target).ok()) return false;
    entry->work_fd_watched = wait.work_fd;
  }
  entry->armed = wait;
  return true;
}

// The heap may hold an earlier time than needed, never a later one: a deadline that moves away with
// every request costs a compare here and is put right when the old time comes.
void Reactor::UpdateDeadline(Entry* entry) {
  const MonotonicTime deadline = entry->connection->NextDeadline();
  if (deadline < entry->when()) timer_heap_.Set(entry, deadline);
}

void Reactor::Destroy(Entry* entry) {
  timer_heap_.Remove(entry);
  epoll_.Clear(entry->armed.transport_fd, &entry->transport_target);
  epoll_.Clear(entry->work_fd_watched, &entry->work_target);
  if (entry->on_finished) entry->on_finished(entry->connection.get());
  entry->connection.reset();
  const size_t index = entry->index;
  if (index + 1 != entries_.size()) {
    entries_[index] = std::exchange(entries_.back(), std::move(entries_[index]));
    entries_[index]->index = index;
  }
  entries_.pop_back();
}

}  // namespace vof
