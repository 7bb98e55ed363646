// SPDX-License-Identifier: Apache-2.0
#include "backends/loopback/fabric_receives.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "backends/loopback/fabric_link.h"
#include "backends/loopback/patient_lock.h"

namespace vof {

int SharedReceiveQueue::receives() const {
  const PatientLock lock(mutex_);
  return static_cast<int>(receives_.size());
}

int SharedReceiveQueue::posted() const {
  const PatientLock lock(mutex_);
  return posted_;
}

absl::Status SharedReceiveQueue::Want(int more) {
  const PatientLock lock(mutex_);
  if (more > options_.max_receives - wanted_) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "loopback fabric: cannot post ", more, " more receives: max_receives is ",
        options_.max_receives, " and ", wanted_, " are wanted already; raise max_receives"));
  }
  const int missing = wanted_ + more - static_cast<int>(receives_.size());
  if (missing > 0) {
    if (absl::Status status = Grow(missing); !status.ok()) return status;
  }
  wanted_ += more;
  return absl::OkStatus();
}

void SharedReceiveQueue::WantLess(int less) {
  const PatientLock lock(mutex_);
  wanted_ -= less;
}

absl::Status SharedReceiveQueue::Grow(int count) {
  const size_t size_bytes = static_cast<size_t>(count) * options_.receive_bytes;
  auto memory = std::make_unique<std::byte[]>(size_bytes);
  absl::StatusOr<Region> region =
      domain_->Register(MutableBuffer(memory.get(), size_bytes), Access::kLocal);
  if (!region.ok()) return region.status();
  for (int i = 0; i < count; ++i) {
    Receive& receive = receives_.emplace_back();
    receive.data = memory.get() + static_cast<size_t>(i) * options_.receive_bytes;
    receive.index = receives_.size() - 1;
    PostLocked(&receive);
  }
  memory_.push_back(std::move(memory));
  regions_.push_back(*std::move(region));
  return absl::OkStatus();
}

SharedReceiveQueue::Receive* SharedReceiveQueue::Take(const void* owner, FabricLink* link,
                                                      int side) {
  const PatientLock lock(mutex_);
  Receive* receive = first_posted_;
  if (receive == nullptr) {
    waiters_.push_back({link->weak_from_this(), side});
    return nullptr;
  }
  first_posted_ = receive->next;
  --posted_;
  receive->owner = owner;
  receive->next = nullptr;
  return receive;
}

void SharedReceiveQueue::PostLocked(Receive* receive) {
  receive->owner = nullptr;
  receive->held = false;
  receive->next = std::exchange(first_posted_, receive);
  ++posted_;
}

void SharedReceiveQueue::Post(Receive* receive) {
  const PatientLock lock(mutex_);
  PostLocked(receive);
}

SharedReceiveQueue::Returned SharedReceiveQueue::PostHeld(uint64_t index, const void* owner) {
  const PatientLock lock(mutex_);
  if (index >= receives_.size()) return Returned::kNotHeld;
  Receive& receive = receives_[index];
  if (receive.owner != owner || !receive.held) return Returned::kNotHeld;
  PostLocked(&receive);
  return waiters_.empty() ? Returned::kPosted : Returned::kPostedAndAwaited;
}

void SharedReceiveQueue::PostAllOf(const void* owner) {
  const PatientLock lock(mutex_);
  for (Receive& receive : receives_) {
    if (receive.owner == owner) PostLocked(&receive);
  }
}

std::optional<SharedReceiveQueue::Waiter> SharedReceiveQueue::NextWaiter() {
  const PatientLock lock(mutex_);
  if (first_posted_ == nullptr || waiters_.empty()) return std::nullopt;
  Waiter waiter = std::move(waiters_.front());
  waiters_.erase(waiters_.begin());
  return waiter;
}

void SharedReceiveQueue::ServeWaiters() {
  while (const std::optional<Waiter> waiter = NextWaiter()) {
    if (const std::shared_ptr<FabricLink> link = waiter->link.lock()) {
      link->OnReceivePosted(waiter->side);
    }
  }
}

}  // namespace vof
