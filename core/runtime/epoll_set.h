// SPDX-License-Identifier: Apache-2.0
//
// What a reactor sleeps on: descriptors, what they are watched for, and whom to tell.
//
//   epoll.Set(fd, EPOLLIN, &target);     // a system call only when something changed
//   for (const epoll_event& event : epoll.Wait(timeout_ms)) EpollSet::TargetOf(event) ...
//   epoll.Clear(fd, &target);            // harmless when fd was closed or belongs to another
//   target by now
//
// Level-triggered. The kernel forgets a descriptor that is closed, so a number that comes back
// under another target is taken as new. One thread.
#ifndef VOF_CORE_RUNTIME_EPOLL_SET_H_
#define VOF_CORE_RUNTIME_EPOLL_SET_H_

#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"

namespace vof {

class EpollSet {
 public:
  // Events taken by one Wait; the others come with the next.
  static constexpr int kMaxEvents = 256;

  EpollSet() = default;
  ~EpollSet();
  EpollSet(const EpollSet&) = delete;
  EpollSet& operator=(const EpollSet&) = delete;

  // Before any other call. Fails when the system has no descriptor left.
  absl::Status Open();

  // Watches `fd` for `events` on behalf of `target`. Fails when the kernel has no room for it.
  absl::Status Set(int fd, uint32_t events, void* target);
  void Clear(int fd, void* target);

  // Waits up to `timeout_ms` (-1: without limit). Valid until the next call. Interrupted: nothing
  // is ready.
  std::span<const epoll_event> Wait(int timeout_ms);
  static void* TargetOf(const epoll_event& event) { return event.data.ptr; }

 private:
  struct Slot {
    void* target = nullptr;
    uint32_t events = 0;
  };

  int fd_ = -1;
  std::vector<Slot> slots_;  // by descriptor
  std::array<epoll_event, kMaxEvents> ready_;
};

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_EPOLL_SET_H_
