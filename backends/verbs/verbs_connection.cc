// SPDX-License-Identifier: Apache-2.0
#include "backends/verbs/verbs_connection.h"

#include <fcntl.h>

#include <cerrno>

#include "backends/verbs/verbs_error.h"

namespace vof {

absl::StatusOr<VerbsEvents> VerbsEvents::Open(std::shared_ptr<VerbsCalls> calls) {
  VerbsEvents events;
  events.calls_ = std::move(calls);
  events.channel_ = events.calls_->CreateEventChannel();
  if (events.channel_ == nullptr) return VerbsError("cannot use RDMA", errno);
  if (fcntl(events.channel_->fd, F_SETFL, O_NONBLOCK) != 0) {
    return VerbsError("cannot use RDMA without blocking", errno);
  }
  return events;
}

bool VerbsEvents::Next(VerbsEvent* event) {
  rdma_cm_event* got = nullptr;
  if (channel_ == nullptr || calls_->GetEvent(channel_, &got) != 0) return false;
  *event = VerbsEvent{.type = got->event, .id = got->id, .status = got->status};
  if (got->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
    event->responder_resources = got->param.conn.responder_resources;
    event->initiator_depth = got->param.conn.initiator_depth;
  }
  // Before anything else is done: an id cannot be destroyed or moved while one of its events is
  // out.
  calls_->AckEvent(got);
  return true;
}

absl::StatusOr<VerbsId> VerbsId::Create(std::shared_ptr<VerbsCalls> calls,
                                        const VerbsEvents& events) {
  rdma_cm_id* id = nullptr;
  if (const int error = calls->CreateId(events.get(), &id); error != 0) {
    return VerbsError("cannot make an RDMA connection id", error);
  }
  return VerbsId(std::move(calls), id);
}

}  // namespace vof
