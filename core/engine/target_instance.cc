// SPDX-License-Identifier: Apache-2.0
#include "core/engine/target_instance.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/engine/virtio_status.h"

namespace vof {

bool EqualTokens(const SessionToken& a, const SessionToken& b) {
  std::byte difference{0};
  for (size_t i = 0; i < a.size(); ++i) difference |= a[i] ^ b[i];
  return difference == std::byte{0};
}

TargetInstance::TargetInstance(InstanceIdentity identity, std::shared_ptr<QueueLink> control)
    : identity_(std::move(identity)), control_(std::move(control)), queues_(identity_.num_queues) {}

InstanceState TargetInstance::state() const {
  std::lock_guard lock(mutex_);
  return state_;
}

uint16_t TargetInstance::num_connected_queues() const {
  std::lock_guard lock(mutex_);
  return static_cast<uint16_t>(std::count_if(queues_.begin(), queues_.end(),
                                             [](const auto& link) { return link != nullptr; }));
}

bool TargetInstance::closing() const {
  std::lock_guard lock(mutex_);
  return closing_;
}

bool TargetInstance::has_let_go() const {
  std::lock_guard lock(mutex_);
  return identity_.dialect == Dialect::kRef && was_driven_ && state_.status == 0;
}

// Posts happen under the mutex, so that every queue sees the states in one order. (Post never runs
// inline.)
void TargetInstance::SetStatus(uint32_t status, Executor* executor, Done done) {
  std::lock_guard lock(mutex_);
  state_.status = status;
  was_driven_ |= (status & virtio_status::kDriverOk) != 0;
  const auto links = AttachedLinks();
  if (links.empty()) return executor->Post(std::move(done));
  auto gather = std::make_shared<Gather>(links.size(), executor, std::move(done));
  for (const auto& link : links) {
    link->executor->Post([link, gather, state = state_] {
      if (link->queue != nullptr) link->queue->OnInstanceState(state);
      gather->Arrive();
    });
  }
}

void TargetInstance::Reset(Executor* executor, Done done) {
  std::lock_guard lock(mutex_);
  state_.status = 0;
  state_.driver_features = 0;
  const auto links = AttachedLinks();
  if (links.empty()) return executor->Post(std::move(done));
  auto gather = std::make_shared<Gather>(links.size(), executor, std::move(done));
  for (const auto& link : links) {
    link->executor->Post([link, gather, state = state_] {
      if (link->queue != nullptr) {
        link->queue->OnReset(state, gather);
      } else {
        gather->Arrive();
      }
    });
  }
}

void TargetInstance::SetDriverFeatures(uint64_t features) {
  std::lock_guard lock(mutex_);
  state_.driver_features = features;
}

bool TargetInstance::SetTransportFeatures(uint64_t features) {
  std::lock_guard lock(mutex_);
  if (had_queue_) return false;
  state_.transport_features = features;
  return true;
}

bool TargetInstance::SetInlineSizes(uint32_t request_bytes, uint32_t completion_bytes) {
  std::lock_guard lock(mutex_);
  if (had_queue_) return false;
  state_.inline_request_bytes = request_bytes;
  state_.inline_completion_bytes = completion_bytes;
  return true;
}

uint16_t TargetInstance::queue_size(uint16_t index) const {
  std::lock_guard lock(mutex_);
  const auto it = chosen_queue_sizes_.find(index);
  return it == chosen_queue_sizes_.end() ? identity_.max_queue_size : it->second;
}

Cause TargetInstance::SetQueueSize(uint16_t index, uint64_t size) {
  std::lock_guard lock(mutex_);
  if (index >= queues_.size()) return Cause::kQueueIndex;
  if (size > identity_.max_queue_size || !std::has_single_bit(size)) return Cause::kQueueSize;
  if (queues_[index] != nullptr) return Cause::kQueueBusy;
  chosen_queue_sizes_[index] = static_cast<uint16_t>(size);
  return Cause::kOk;
}

Cause TargetInstance::AttachQueue(uint16_t index, std::shared_ptr<QueueLink> link,
                                  InstanceState* state) {
  std::lock_guard lock(mutex_);
  if (closing_) return Cause::kNoInstance;
  if (index >= queues_.size()) return Cause::kQueueIndex;
  if (queues_[index] != nullptr) return Cause::kQueueBusy;
  queues_[index] = std::move(link);
  had_queue_ = true;
  *state = state_;
  return Cause::kOk;
}

bool TargetInstance::DetachQueue(uint16_t index) {
  std::lock_guard lock(mutex_);
  queues_[index] = nullptr;
  return IsEmpty();
}

bool TargetInstance::DetachControl() {
  std::lock_guard lock(mutex_);
  control_ = nullptr;
  return IsEmpty();
}

void TargetInstance::Close() {
  std::lock_guard lock(mutex_);
  if (std::exchange(closing_, true)) return;
  auto links = AttachedLinks();
  if (control_ != nullptr) links.push_back(control_);
  for (const auto& link : links) {
    PostToQueue(link, [](AttachedQueue& queue) { queue.OnInstanceClosed(); });
  }
}

void TargetInstance::NotifyConfigChanged() {
  std::lock_guard lock(mutex_);
  if (control_ == nullptr) return;
  PostToQueue(control_, [](AttachedQueue& queue) { queue.OnConfigChanged(); });
}

std::vector<std::shared_ptr<QueueLink>> TargetInstance::AttachedLinks() const {
  std::vector<std::shared_ptr<QueueLink>> links;
  for (const auto& link : queues_) {
    if (link != nullptr) links.push_back(link);
  }
  return links;
}

bool TargetInstance::IsEmpty() const {
  return closing_ && control_ == nullptr &&
         std::all_of(queues_.begin(), queues_.end(),
                     [](const auto& link) { return link == nullptr; });
}

}  // namespace vof
