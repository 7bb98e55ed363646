// SPDX-License-Identifier: Apache-2.0
//
// Owners of what librdmacm hands out: an event channel, and an id (one end of a connection, or a
// listening address).
//
//   absl::StatusOr<VerbsEvents> events = VerbsEvents::Open(calls);
//   VerbsEvent event;
//   while (events->Next(&event)) { ... }                       // never blocks; acknowledged
//
// Inside this folder only. An id ends before the event channel that it reports to.
#ifndef VOF_BACKENDS_VERBS_VERBS_CONNECTION_H_
#define VOF_BACKENDS_VERBS_VERBS_CONNECTION_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/verbs/verbs_calls.h"

namespace vof {

// What is needed of an rdma_cm_event after it was acknowledged.
struct VerbsEvent {
  rdma_cm_event_type type = RDMA_CM_EVENT_TIMEWAIT_EXIT;
  rdma_cm_id* id = nullptr;
  int status = 0;  // a negative errno, or the reason of a rejection
  // Of a connection request: what the peer grants, as seen from here.
  uint8_t responder_resources = 0;
  uint8_t initiator_depth = 0;
};

class VerbsEvents {
 public:
  VerbsEvents() = default;
  static absl::StatusOr<VerbsEvents> Open(std::shared_ptr<VerbsCalls> calls);
  VerbsEvents(VerbsEvents&& other) noexcept
      : calls_(std::move(other.calls_)), channel_(std::exchange(other.channel_, nullptr)) {}
  VerbsEvents& operator=(VerbsEvents&& other) noexcept {
    std::swap(calls_, other.calls_);
    std::swap(channel_, other.channel_);
    return *this;
  }
  ~VerbsEvents() {
    if (channel_ != nullptr) calls_->DestroyEventChannel(channel_);
  }

  // False when there is none.
  bool Next(VerbsEvent* event);
  rdma_event_channel* get() const { return channel_; }
  int fd() const { return channel_ == nullptr ? -1 : channel_->fd; }

 private:
  std::shared_ptr<VerbsCalls> calls_;
  rdma_event_channel* channel_ = nullptr;
};

class VerbsId {
 public:
  VerbsId() = default;
  VerbsId(std::shared_ptr<VerbsCalls> calls, rdma_cm_id* id) : calls_(std::move(calls)), id_(id) {}
  static absl::StatusOr<VerbsId> Create(std::shared_ptr<VerbsCalls> calls,
                                        const VerbsEvents& events);
  VerbsId(VerbsId&& other) noexcept
      : calls_(std::move(other.calls_)), id_(std::exchange(other.id_, nullptr)) {}
  VerbsId& operator=(VerbsId&& other) noexcept {
    std::swap(calls_, other.calls_);
    std::swap(id_, other.id_);
    return *this;
  }
  ~VerbsId() {
    if (id_ != nullptr) calls_->DestroyId(id_);
  }

  rdma_cm_id* get() const { return id_; }

 private:
  std::shared_ptr<VerbsCalls> calls_;
  rdma_cm_id* id_ = nullptr;
};

}  // namespace vof

#endif  // VOF_BACKENDS_VERBS_VERBS_CONNECTION_H_
