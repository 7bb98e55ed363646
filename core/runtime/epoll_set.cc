// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/epoll_set.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace vof {

EpollSet::~EpollSet() {
  if (fd_ >= 0) close(fd_);
}

absl::Status EpollSet::Open() {
  fd_ = epoll_create1(EPOLL_CLOEXEC);
  if (fd_ < 0) return absl::ErrnoToStatus(errno, "cannot make the epoll descriptor of a reactor");
  return absl::OkStatus();
}

absl::Status EpollSet::Set(int fd, uint32_t events, void* target) {
  const auto index = static_cast<size_t>(fd);
  const bool known = fd >= 0 && index < slots_.size() && slots_[index].target == target;
  if (known && slots_[index].events == events) return absl::OkStatus();
  epoll_event event{};
  event.events = events;
  event.data.ptr = target;
  int result = epoll_ctl(fd_, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
  if (result < 0 && (errno == EEXIST || errno == ENOENT)) {
    result = epoll_ctl(fd_, errno == EEXIST ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
  }
  if (result < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot wait for descriptor ", fd,
                                                   " (see /proc/sys/fs/epoll/max_user_watches)"));
  }
  if (index >= slots_.size()) slots_.resize(index + 1);
  slots_[index] = Slot{target, events};
  return absl::OkStatus();
}

void EpollSet::Clear(int fd, void* target) {
  if (fd < 0 || static_cast<size_t>(fd) >= slots_.size()) return;
  Slot& slot = slots_[static_cast<size_t>(fd)];
  if (slot.target != target) return;
  slot = Slot{};
  epoll_ctl(fd_, EPOLL_CTL_DEL, fd, nullptr);
}

std::span<const epoll_event> EpollSet::Wait(int timeout_ms) {
  const int count = epoll_wait(fd_, ready_.data(), kMaxEvents, timeout_ms);
  return {ready_.data(), count > 0 ? static_cast<size_t>(count) : 0};
}

}  // namespace vof
