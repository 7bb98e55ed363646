// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/reactor.h"

#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/time.h"
#include "core/runtime/reactor_internal.h"

namespace vof {
namespace {

// While connections are polled directly, epoll (sleeping connections, listeners) is asked after
// this many turns or this much time, whichever is first: a turn over idle sockets takes well under
// a microsecond. A busy poller asks more rarely, since what is urgent to it is not left to epoll.
struct CheckInterval {
  int turns;
  Nanoseconds time;
};
constexpr CheckInterval kSpinningChecks{16, 50'000};
constexpr CheckInterval kBusyPollChecks{64, 100'000};

absl::Status CheckCpu(int cpu) {
  if (cpu < 0) return absl::OkStatus();
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
    return absl::ErrnoToStatus(errno, "cannot read the CPUs of this process");
  }
  if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, &allowed)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "cannot run on CPU ", cpu, ": it does not exist or this process may not use it (",
      CPU_COUNT(&allowed), " CPUs are allowed; see taskset)"));
}

// Rounded up: a timer fires at or after its time, never in a row of too early wake-ups.
int WaitMilliseconds(Nanoseconds wait) {
  if (wait <= 0) return 0;
  if (wait >= 3600 * kNanosecondsPerSecond) return -1;
  return static_cast<int>((wait + kNanosecondsPerMillisecond - 1) / kNanosecondsPerMillisecond);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Reactor>> Reactor::Create(const ReactorOptions& options) {
  if (absl::Status s = CheckCpu(options.cpu); !s.ok()) return s;
  std::unique_ptr<Reactor> reactor(new Reactor(options));
  if (absl::Status s = reactor->Open(); !s.ok()) return s;
  return reactor;
}

Reactor::Reactor(const ReactorOptions& options)
    : options_(options),
      pool_(options.pool_bytes),
      mailbox_target_(new EventTarget{EventTarget::Kind::kMailbox, nullptr}) {}

absl::Status Reactor::Open() {
  constexpr size_t kPageBytes = 4096;
  const size_t size_bytes = (options_.scratch_bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  scratch_ = MutableBuffer(std::aligned_alloc(kPageBytes, size_bytes), size_bytes);
  if (scratch_.data == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for a receive buffer of ", size_bytes, " bytes"));
  }
  if (!pool_.has_memory()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no address space for a payload pool of ", pool_.limit_bytes(),
                     " bytes: choose a smaller one, or raise the limit (ulimit -v)"));
  }
  if (absl::Status s = mailbox_.Open(); !s.ok()) return s;
  if (absl::Status s = epoll_.Open(); !s.ok()) return s;
  now_ = MonotonicNow();
  return epoll_.Set(mailbox_.fd(), EPOLLIN, mailbox_target_.get());
}

Reactor::~Reactor() { std::free(scratch_.data); }

void Reactor::CloseAll() {
  now_ = MonotonicNow();
  while (!watched_.empty()) Unwatch(watched_.begin()->first);
  while (!timers_.empty()) CancelTimer(timers_.begin()->first);
  for (size_t i = 0; i < entries_.size(); ++i) {
    entries_[i]->connection->Close(CloseReason::kLocal, now_);
    WakeEntry(entries_[i].get());
  }
}

// False when a connection was not finished by then.
bool Reactor::DriveToTheEnd(MonotonicTime give_up) {
  constexpr Nanoseconds kPause = Milliseconds(10);
  while (!entries_.empty()) {
    if (now_ >= give_up) return false;
    ++turn_;
    mailbox_.Take(&mail_);
    mail_.clear();
    TakeEvents(kPause);
    now_ = MonotonicNow();
    if (timer_heap_.Earliest() <= now_) FireTimers();
    PollActive();
  }
  return true;
}

// Whoever wanted to hear of these connections may be gone when they end.
void Reactor::LetGo() {
  for (const auto& entry : entries_) {
    entry->on_finished = nullptr;
    if (options_.on_held) options_.on_held(entry->connection->Describe());
  }
  options_.on_held = nullptr;
}

void Reactor::Post(std::function<void()> work) { mailbox_.Post(std::move(work)); }

void Reactor::Stop() {
  stop_.store(true);
  mailbox_.Wake();
}

void Reactor::EnterThread() { owner_.store(std::this_thread::get_id(), std::memory_order_relaxed); }

void Reactor::Run() {
  EnterThread();
  pthread_setname_np(pthread_self(), options_.name.substr(0, 15).c_str());
  if (options_.cpu >= 0) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(options_.cpu, &cpus);
    sched_setaffinity(0, sizeof(cpus), &cpus);  // checked by Create
  }
  now_ = MonotonicNow();
  while (!stop_.load()) Turn(kInfiniteFuture);
  owner_.store(std::thread::id(), std::memory_order_relaxed);
}

void Reactor::RunOnce(Nanoseconds max_wait) {
  EnterThread();
  now_ = MonotonicNow();
  Turn(max_wait);
}

void Reactor::Turn(Nanoseconds max_wait) {
  ++turn_;
  TakeEvents(max_wait);
  now_ = MonotonicNow();
  if (mailbox_.HasMail()) RunMail();
  if (timer_heap_.Earliest() <= now_) FireTimers();
  PollActive();
}

// Asks epoll what is ready: with a wait when there is nothing to poll, else only now and then.
void Reactor::TakeEvents(Nanoseconds max_wait) {
  if (!active_.empty()) {
    if (!EventCheckDue()) return;
    const std::span<const epoll_event> events = epoll_.Wait(0);
    DispatchAll(events);
    const bool idle = !std::exchange(moved_since_check_, false) && events.empty();
    // A transport that cannot sleep may be waiting for somebody who needs this processor.
    if (idle && !options_.busy_poll) sched_yield();
    return;
  }
  if (options_.busy_poll || max_wait <= 0 || !mailbox_.PrepareToSleep()) {
    DispatchAll(epoll_.Wait(0));
    return;
  }
  const MonotonicTime earliest = timer_heap_.Earliest();
  const Nanoseconds until_timer = earliest == kInfiniteFuture ? kInfiniteFuture : earliest - now_;
  const std::span<const epoll_event> events =
      epoll_.Wait(WaitMilliseconds(std::min(until_timer, max_wait)));
  mailbox_.Awake();
  DispatchAll(events);
}

// `events`, and what else is ready: if each turn took one batch, the last of thousands would wait
// for many turns, and each of these may move kTurnBytes.
void Reactor::DispatchAll(std::span<const epoll_event> events) {
  Dispatch(events);
  size_t batches_left = entries_.size() / EpollSet::kMaxEvents;
  while (events.size() == EpollSet::kMaxEvents && batches_left-- > 0) {
    events = epoll_.Wait(0);
    Dispatch(events);
  }
}

bool Reactor::EventCheckDue() {
  const CheckInterval& interval = options_.busy_poll ? kBusyPollChecks : kSpinningChecks;
  if (++turns_since_check_ < interval.turns && now_ - last_check_ < interval.time) return false;
  turns_since_check_ = 0;
  last_check_ = now_;
  return true;
}

void Reactor::Dispatch(std::span<const epoll_event> events) {
  for (const epoll_event& event : events) {
    auto* target = static_cast<EventTarget*>(EpollSet::TargetOf(event));
    switch (target->kind) {
      case EventTarget::Kind::kMailbox:
        mailbox_.ClearSignal();
        break;
      case EventTarget::Kind::kWatched: {
        auto* watched = static_cast<Watched*>(target->owner);
        if (watched->alive) watched->ready();
        break;
      }
      case EventTarget::Kind::kTransport:
        Activate(static_cast<Entry*>(target->owner));
        break;
      case EventTarget::Kind::kWork: {
        auto* entry = static_cast<Entry*>(target->owner);
        if (entry->active || entry->armed.work_fd >= 0) {
          Activate(entry);
        } else {
          epoll_.Clear(std::exchange(entry->work_fd_watched, -1), target);
        }
        break;
      }
    }
  }
  unwatched_.clear();
}

void Reactor::RunMail() {
  mailbox_.Take(&mail_);
  // What these post again runs in the next turn.
  for (std::function<void()>& work : mail_) {
    work();
    work = nullptr;
  }
  mail_.clear();
}

absl::Status Reactor::Watch(int fd, std::function<void()> ready) {
  DebugCheck(InOwnThread(), "Watch is called on the reactor's thread");
  Unwatch(fd);
  auto watched = std::make_unique<Watched>();
  watched->fd = fd;
  watched->ready = std::move(ready);
  if (absl::Status s = epoll_.Set(fd, EPOLLIN, &watched->target); !s.ok()) return s;
  watched_[fd] = std::move(watched);
  return absl::OkStatus();
}

void Reactor::Unwatch(int fd) {
  DebugCheck(InOwnThread(), "Unwatch is called on the reactor's thread");
  const auto it = watched_.find(fd);
  if (it == watched_.end()) return;
  it->second->alive = false;
  epoll_.Clear(fd, &it->second->target);
  unwatched_.push_back(std::move(it->second));
  watched_.erase(it);
}

uint64_t Reactor::AddTimer(MonotonicTime when, std::function<void()> fire) {
  DebugCheck(InOwnThread(), "AddTimer is called on the reactor's thread");
  const uint64_t token = ++last_token_;
  auto timer = std::make_unique<Timer>(token);
  timer->fire = std::move(fire);
  timer_heap_.Set(timer.get(), when);
  timers_[token] = std::move(timer);
  return token;
}

void Reactor::CancelTimer(uint64_t token) {
  DebugCheck(InOwnThread(), "CancelTimer is called on the reactor's thread");
  const auto it = timers_.find(token);
  if (it == timers_.end()) return;
  timer_heap_.Remove(it->second.get());
  timers_.erase(it);
}

void Reactor::FireTimers() {
  // All that is due is taken out first: what is set again in a callback fires in the next turn.
  while (TimerNode* node = timer_heap_.PopDue(now_)) {
    auto* timer = static_cast<Timer*>(node);
    due_.push_back({timer->token == 0 ? static_cast<Entry*>(timer) : nullptr, timer->token});
  }
  for (const Due& due : due_) {
    if (due.entry != nullptr) {
      // The heap may hold an earlier time than the connection has by now: see UpdateDeadline.
      Connection& connection = *due.entry->connection;
      if (connection.NextDeadline() <= now_) {
        connection.OnTimer(now_);
        WakeEntry(due.entry);
      } else {
        UpdateDeadline(due.entry);
      }
      continue;
    }
    const auto it = timers_.find(due.token);
    if (it == timers_.end()) continue;
    const std::unique_ptr<Timer> timer = std::move(it->second);
    timers_.erase(it);
    timer->fire();
  }
  due_.clear();
}

}  // namespace vof

void std::default_delete<vof::Reactor>::operator()(vof::Reactor* reactor) const {
  reactor->owner_.store(std::thread::id(), std::memory_order_relaxed);
  reactor->CloseAll();
  const vof::Nanoseconds patience = reactor->options_.device_timeout;
  if (reactor->DriveToTheEnd(vof::DeadlineAfter(vof::MonotonicNow(), patience))) {
    delete reactor;
    return;
  }
  reactor->LetGo();
  std::thread([reactor] {
    reactor->DriveToTheEnd(vof::kInfiniteFuture);
    delete reactor;
  }).detach();
}
