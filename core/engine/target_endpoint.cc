// SPDX-License-Identifier: Apache-2.0
#include "core/engine/target_endpoint.h"

#include <new>
#include <utility>

#include "core/base/headroom.h"
#include "core/wire/connect_body.h"
#include "core/wire/detect.h"
#include "core/wire/with_codec.h"

namespace vof {

TargetEndpoint::TargetEndpoint(const EngineHost& host, TargetDirectory* directory,
                               PeerIdentity peer, Transmission transmission, MonotonicTime now)
    : host_(host),
      directory_(directory),
      peer_(std::move(peer)),
      transmission_(transmission),
      handle_(std::make_shared<Handle>()),
      link_(std::make_shared<QueueLink>(host.executor)),
      admitted_(directory->AdmitConnection()),
      deadline_(DeadlineAfter(now, directory->options().handshake_timeout)) {
  handle_->endpoint = this;
  if (!admitted_) {
    CloseWithoutAnswer("the limit of " + std::to_string(directory->options().max_connections) +
                       " connections is reached");
  }
}

TargetEndpoint::~TargetEndpoint() {
  handle_->endpoint = nullptr;
  StopWaiting();
  if (admitted_) directory_->ReleaseConnection();
}

void TargetEndpoint::set_hooks(Hooks hooks) { hooks_ = std::move(hooks); }

void TargetEndpoint::BeginDrain(Nanoseconds stall_timeout) {
  if (link_->queue != nullptr) {
    link_->queue->BeginDrain(stall_timeout);
  } else if (phase_ == Phase::kCollecting || phase_ == Phase::kWaiting) {
    CloseWithoutAnswer("the target goes down");
  }
}

bool TargetEndpoint::has_virtqueues() const {
  return link_->queue != nullptr && link_->queue->is_control_queue() &&
         link_->queue->instance().num_connected_queues() > 0;
}

bool TargetEndpoint::OnHeader(HeaderIn header) {
  WireError error = WireError::kNone;
  switch (DetectDialect(header)) {
    case DialectGuess::kNone:
      error = WireError::kNotAConnect;
      break;
    case DialectGuess::kV5:
      error = V5::DecodeCommand(header, connect_);
      break;
    case DialectGuess::kRef:
      dialect_ = Dialect::kRef;
      error = Ref::DecodeCommand(header, connect_);
      break;
  }
  if (error == WireError::kNone && connect_.kind != CommandKind::kConnect) {
    error = WireError::kNotAConnect;
  }
  const bool other_transmission =
      dialect_ == Dialect::kRef && connect_.transmission != transmission_;
  if (error == WireError::kNone && other_transmission) error = WireError::kConnectTransmission;
  if (error != WireError::kNone) CloseWithoutAnswer(std::string(WireErrorText(error)));
  return error == WireError::kNone;
}

bool TargetEndpoint::CheckBodySegment(const Segment& segment) {
  if (segment.length_bytes == kConnectBodyBytes) return true;
  CloseWithoutAnswer(std::string(WireErrorText(WireError::kConnectLength)));
  return false;
}

void TargetEndpoint::OnConnect(std::optional<std::span<const std::byte, kConnectBodyBytes>> body) {
  ConnectRequest request;
  request.dialect = dialect_;
  request.transmission = transmission_;
  request.peer = peer_;
  request.instance_id = connect_.instance_id;
  request.queue_index = connect_.queue_index;
  request.queue_size = connect_.queue_size;
  if (body.has_value()) {
    const WireError error = DecodeConnectBody(dialect_, *body, request.body.emplace());
    if (error != WireError::kNone) return CloseWithoutAnswer(std::string(WireErrorText(error)));
    initiator_name_ = request.body->initiator_name;
    target_name_ = request.body->target_name;
  }
  phase_ = Phase::kWaiting;
  if (connect_.instance_id == kControlInstanceId) {
    ConnectControl(std::move(request));
  } else {
    ConnectQueue(request);
  }
}

void TargetEndpoint::ConnectControl(ConnectRequest request) {
  if (!request.body.has_value()) return Refuse(Cause::kNamesDiffer);
  ticket_ = directory_->ConnectControl(std::move(request), link_,
                                       [handle = handle_](const ControlGrant& grant) {
                                         if (handle->endpoint)
                                           handle->endpoint->OnControlGranted(grant);
                                       });
}

// The grant ends the instance again if this connection has ended meanwhile.
void TargetEndpoint::OnControlGranted(const ControlGrant& grant) {
  if (phase_ != Phase::kWaiting) return;
  if (grant.cause != Cause::kOk) {
    Refuse(grant.cause, grant.obstacle);
  } else {
    hooks_.start_control(grant.place);
    phase_ = Phase::kRunning;
    Tell(NewEvent(TargetEventKind::kSessionAccepted));
  }
  hooks_.wake();
}

void TargetEndpoint::ConnectQueue(const ConnectRequest& request) {
  QueueGrant grant = directory_->ConnectQueue(request, link_);
  if (grant.cause != Cause::kOk) return Refuse(grant.cause);
  try {
    const Headroom headroom;
    auto device = grant.place->instance()->device().OpenQueue(grant.place->index());
    if (!device.ok()) {
      return Refuse(Cause::kLimit,
                    "the device cannot open it: " + std::string(device.status().message()));
    }
    hooks_.start_queue(std::move(grant), *std::move(device));
  } catch (const std::bad_alloc&) {  // what a queue has of its own, it has from here on
    return Refuse(Cause::kLimit, "there is no memory for it");
  }
  phase_ = Phase::kRunning;
  if (on_virtqueue_) on_virtqueue_();
  Tell(NewEvent(TargetEventKind::kQueueAccepted));
}

TargetEvent TargetEndpoint::NewEvent(TargetEventKind kind) const {
  TargetEvent event;
  event.kind = kind;
  event.dialect = dialect_;
  event.instance_id = connect_.instance_id;
  event.queue_index = connect_.queue_index;
  event.peer = peer_.Text();
  event.initiator_name = initiator_name_;
  event.target_name = target_name_;
  if (link_->queue != nullptr) {  // a virtqueue may have left its names out
    const InstanceIdentity& identity = link_->queue->instance().identity();
    event.instance_id = identity.id;
    event.initiator_name = identity.body.initiator_name;
    event.target_name = identity.body.target_name;
  }
  return event;
}

void TargetEndpoint::ReportHeld() const {
  if (link_->queue == nullptr) return;
  TargetEvent event = NewEvent(TargetEventKind::kQueueHeld);
  event.end = EndCause::kDevice;
  event.why = "requests that it has not completed keep their memory until it does";
  Tell(event);
}

void TargetEndpoint::Refuse(Cause cause, std::string why) {
  Completion completion;
  completion.command_id = connect_.command_id;
  completion.cause = cause;
  WithCodec(dialect_,
            [&]<Codec C>() { C::EncodeCompletion(CommandKind::kConnect, completion, refusal_); });
  phase_ = Phase::kRefused;
  const bool is_control = connect_.instance_id == kControlInstanceId;
  TargetEvent event =
      NewEvent(is_control ? TargetEventKind::kSessionRefused : TargetEventKind::kQueueRefused);
  event.cause = cause;
  event.why = why.empty() ? std::string(RefusalText(cause)) : std::move(why);
  end_reason_ = "refused: " + event.why;
  Tell(event);
}

void TargetEndpoint::CloseWithoutAnswer(std::string reason) {
  StopWaiting();
  phase_ = Phase::kClosing;
  end_reason_ = std::move(reason);
  if (hooks_.wake) hooks_.wake();
}

void TargetEndpoint::StopWaiting() {
  if (phase_ == Phase::kWaiting) directory_->Withdraw(ticket_);
}

void TargetEndpoint::OnClosed() {
  StopWaiting();
  if (link_->queue != nullptr) {
    TargetEvent event = NewEvent(link_->queue->is_control_queue() ? TargetEventKind::kSessionEnded
                                                                  : TargetEventKind::kQueueEnded);
    event.end = link_->queue->end().cause;
    event.why = link_->queue->end().why;
    phase_ = Phase::kClosed;
    return Tell(event);
  }
  if (phase_ != Phase::kRefused) {
    TargetEvent event = NewEvent(TargetEventKind::kConnectionUnused);
    if (end_reason_.empty()) end_reason_ = "closed before a complete Connect";
    event.why = end_reason_;
    if (!admitted_) event.cause = Cause::kLimit;
    Tell(event);
  }
  phase_ = Phase::kClosed;
}

std::string TargetEndpoint::Describe() const {
  return std::string("connection without a queue") +
         (end_reason_.empty() ? "" : " (" + end_reason_ + ")");
}

}  // namespace vof
