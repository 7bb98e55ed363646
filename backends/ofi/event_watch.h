// SPDX-License-Identifier: Apache-2.0
//
// Looks at a queue of events when its descriptor says so or, where there is none, every few
// milliseconds.
//
//   EventWatch watch;
//   absl::Status status = watch.Start(reactor, eq_fd, [this] { OnEvents(); });
//
// On the reactor's thread. `look` may destroy the watch.
#ifndef VOF_BACKENDS_OFI_EVENT_WATCH_H_
#define VOF_BACKENDS_OFI_EVENT_WATCH_H_

#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "core/base/time.h"
#include "core/runtime/reactor.h"

namespace vof {

class EventWatch {
 public:
  static constexpr Nanoseconds kLookEvery = 2 * kNanosecondsPerMillisecond;

  EventWatch() = default;
  ~EventWatch() { Stop(); }
  EventWatch(const EventWatch&) = delete;
  EventWatch& operator=(const EventWatch&) = delete;

  // `fd` is -1 where there is none. Once.
  absl::Status Start(Reactor* reactor, int fd, std::function<void()> look) {
    reactor_ = reactor;
    fd_ = fd;
    if (fd >= 0) return reactor->Watch(fd, std::move(look));
    look_ = std::move(look);
    LookLater();
    return absl::OkStatus();
  }
  void Stop() {
    if (reactor_ == nullptr) return;
    if (fd_ >= 0) reactor_->Unwatch(fd_);
    if (timer_ != 0) reactor_->CancelTimer(timer_);
    timer_ = 0;
    reactor_ = nullptr;
  }

 private:
  void LookLater() {
    timer_ = reactor_->AddTimer(DeadlineAfter(MonotonicNow(), kLookEvery), [this] {
      LookLater();
      const std::function<void()> look = look_;  // outlives this
      look();
    });
  }

  Reactor* reactor_ = nullptr;
  int fd_ = -1;
  uint64_t timer_ = 0;
  std::function<void()> look_;
};

}  // namespace vof

#endif  // VOF_BACKENDS_OFI_EVENT_WATCH_H_
