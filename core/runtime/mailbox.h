// SPDX-License-Identifier: Apache-2.0
//
// Work for a reactor from other threads, with a wake-up only when the reactor sleeps.
//
//   mailbox.Post([] { ... });                               // any thread
//   if (mailbox.HasMail()) mailbox.Take(&work);             // owner: one load when there is none
//   if (mailbox.PrepareToSleep()) { epoll_wait(...); }      // fd() is readable once there is mail
//   mailbox.Awake();
//
// For the control path: it may allocate and is not bounded. A sleeper announces itself before it
// looks for mail and a poster leaves its mail before it looks for a sleeper (both sequentially
// consistent), so one of the two always sees the other.
#ifndef VOF_CORE_RUNTIME_MAILBOX_H_
#define VOF_CORE_RUNTIME_MAILBOX_H_

#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

#include "absl/status/status.h"

namespace vof {

class Mailbox {
 public:
  Mailbox() = default;
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // Before any other call. Fails when the system has no descriptor left.
  absl::Status Open();

  // Any thread.
  void Post(std::function<void()> work);
  void Wake();  // ends a sleep without leaving mail; so does the next PrepareToSleep

  // The owner's thread.
  bool HasMail() const { return has_mail_.load(std::memory_order_acquire); }
  // Moves everything posted so far to the end of `work`, in order.
  void Take(std::vector<std::function<void()>>* work);
  // False: there is mail or somebody called Wake; do not sleep.
  bool PrepareToSleep();
  void Awake();
  // When fd() was readable; it may become so once more than needed, which costs an idle turn.
  void ClearSignal();
  int fd() const { return fd_; }

 private:
  int fd_ = -1;
  std::atomic<bool> has_mail_{false};
  std::atomic<bool> woken_{false};
  std::atomic<bool> sleeping_{false};
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;
};

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_MAILBOX_H_
