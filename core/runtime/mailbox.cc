// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/mailbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <iterator>
#include <utility>

#include "absl/status/status.h"

namespace vof {

Mailbox::~Mailbox() {
  if (fd_ >= 0) close(fd_);
}

absl::Status Mailbox::Open() {
  fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd_ < 0) return absl::ErrnoToStatus(errno, "cannot make the wake-up descriptor of a reactor");
  return absl::OkStatus();
}

void Mailbox::Post(std::function<void()> work) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    posted_.push_back(std::move(work));
    has_mail_.store(true, std::memory_order_seq_cst);
  }
  Wake();
}

void Mailbox::Wake() {
  woken_.store(true, std::memory_order_seq_cst);
  // Who ends the sleep writes; the others need not.
  if (!sleeping_.load(std::memory_order_seq_cst)) return;
  if (!sleeping_.exchange(false, std::memory_order_seq_cst)) return;
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = write(fd_, &one, sizeof(one));
}

void Mailbox::Take(std::vector<std::function<void()>>* work) {
  std::lock_guard<std::mutex> lock(mutex_);
  has_mail_.store(false, std::memory_order_relaxed);
  if (work->empty()) {
    work->swap(posted_);
    return;
  }
  work->insert(work->end(), std::make_move_iterator(posted_.begin()),
               std::make_move_iterator(posted_.end()));
  posted_.clear();
}

bool Mailbox::PrepareToSleep() {
  sleeping_.store(true, std::memory_order_seq_cst);
  if (!woken_.load(std::memory_order_seq_cst) && !HasMail()) return true;
  Awake();
  return false;
}

void Mailbox::Awake() {
  // Reads what the poster wrote, so that its mail is seen after this.
  woken_.exchange(false, std::memory_order_seq_cst);
  sleeping_.store(false, std::memory_order_seq_cst);
}

void Mailbox::ClearSignal() {
  uint64_t count;
  [[maybe_unused]] const auto got = read(fd_, &count, sizeof(count));
}

}  // namespace vof
