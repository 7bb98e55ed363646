// SPDX-License-Identifier: Apache-2.0
#include "core/engine/target_connection.h"

#include <algorithm>
#include <utility>

#include "core/engine/target_stream.h"
#include "core/wire/connect_body.h"
#include "core/wire/detect.h"
#include "core/wire/ref.h"
#include "core/wire/v5.h"

namespace vof {

TargetConnection::TargetConnection(const EngineHost& host, TargetDirectory* directory,
                                   PeerIdentity peer, MonotonicTime now)
    : host_(host),
      directory_(directory),
      peer_(std::move(peer)),
      handle_(std::make_shared<Handle>()),
      link_(std::make_shared<QueueLink>(host.executor)),
      admitted_(directory->AdmitConnection()),
      now_(now),
      deadline_(DeadlineAfter(now, directory->options().handshake_timeout)) {
  static_assert(kLongestConnect == kHeaderBytes + Ref::kDescriptorBytes + kConnectBodyBytes);
  handle_->connection = this;
  if (!admitted_) {
    CloseWithoutAnswer("more than " + std::to_string(directory->options().max_connections) +
                       " connections");
  }
}

TargetConnection::~TargetConnection() {
  handle_->connection = nullptr;
  queue_.reset();
  if (admitted_) directory_->ReleaseConnection();
}

void TargetConnection::BeginDrain(Nanoseconds stall_timeout) {
  if (link_->queue != nullptr) {
    link_->queue->BeginDrain(stall_timeout);
  } else if (!queue_ && (phase_ == Phase::kCollecting || phase_ == Phase::kWaiting)) {
    CloseWithoutAnswer("the target goes down");
  }
}

bool TargetConnection::has_virtqueues() const {
  return queue_ && link_->queue->is_control_queue() &&
         link_->queue->instance().num_connected_queues() > 0;
}

int TargetConnection::PrepareRead(MutableBuffer scratch, std::span<MutableBuffer> into) {
  if (queue_) return queue_->PrepareRead(scratch, into);
  if (phase_ != Phase::kCollecting) return 0;
  into[0] = MutableBuffer(received_.data() + received_bytes_, wanted_bytes_ - received_bytes_);
  return 1;
}

void TargetConnection::OnRead(size_t bytes, MonotonicTime now) {
  now_ = now;
  if (queue_) return queue_->OnRead(bytes, now);
  received_bytes_ += bytes;
  if (received_bytes_ < wanted_bytes_) return;
  if (wanted_bytes_ == kHeaderBytes) OnHeader();
  if (phase_ == Phase::kCollecting && received_bytes_ == wanted_bytes_) OnConnect();
}

// The first 16 bytes tell dialect and length of the Connect.
void TargetConnection::OnHeader() {
  const HeaderIn header(received_.data(), kHeaderBytes);
  WireError error = WireError::kNone;
  switch (DetectDialect(header)) {
    case DialectGuess::kNone:
      error = WireError::kNotAConnect;
      break;
    case DialectGuess::kV5:
      error = V5::DecodeCommand(header, connect_);
      wanted_bytes_ = kHeaderBytes + connect_.body_length;
      break;
    case DialectGuess::kRef:
      dialect_ = Dialect::kRef;
      error = Ref::DecodeCommand(header, connect_);
      wanted_bytes_ = kLongestConnect;
      break;
  }
  if (error == WireError::kNone && connect_.kind != CommandKind::kConnect) {
    error = WireError::kNotAConnect;
  }
  if (error == WireError::kNone && connect_.transmission != Transmission::kStream) {
    error = WireError::kConnectTransmission;
  }
  if (error != WireError::kNone) CloseWithoutAnswer(std::string(WireErrorText(error)));
}

void TargetConnection::OnConnect() {
  const std::span<const std::byte> received(received_.data(), wanted_bytes_);
  ConnectRequest request;
  request.dialect = dialect_;
  request.peer = peer_;
  request.instance_id = connect_.instance_id;
  request.queue_index = connect_.queue_index;
  request.queue_size = connect_.queue_size;
  if (dialect_ == Dialect::kRef) {
    const Segment segment =
        Ref::DecodeSegment(received.subspan(kHeaderBytes, Ref::kDescriptorBytes));
    if (segment.length_bytes != kConnectBodyBytes) {
      return CloseWithoutAnswer(std::string(WireErrorText(WireError::kConnectLength)));
    }
  }
  if (received.size() > kHeaderBytes) {
    const WireError error =
        DecodeConnectBody(dialect_, received.last<kConnectBodyBytes>(), request.body.emplace());
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

void TargetConnection::ConnectControl(ConnectRequest request) {
  if (!request.body.has_value()) return Refuse(Cause::kNamesDiffer);
  directory_->ConnectControl(std::move(request), link_,
                             [handle = handle_](const ControlGrant& grant) {
                               if (handle->connection) handle->connection->OnControlGranted(grant);
                             });
}

// The grant ends the instance again if this connection has ended meanwhile.
void TargetConnection::OnControlGranted(const ControlGrant& grant) {
  if (phase_ != Phase::kWaiting) return;
  if (grant.cause != Cause::kOk) {
    Refuse(grant.cause, grant.obstacle);
  } else if (dialect_ == Dialect::kV5) {
    StartControl<V5>(grant.place);
  } else {
    StartControl<Ref>(grant.place);
  }
  Wake();
}

void TargetConnection::ConnectQueue(const ConnectRequest& request) {
  QueueGrant grant = directory_->ConnectQueue(request, link_);
  if (grant.cause != Cause::kOk) return Refuse(grant.cause);
  auto device = grant.place->instance()->device().OpenQueue(grant.place->index());
  if (!device.ok()) {
    return Refuse(Cause::kLimit,
                  "the device cannot open it: " + std::string(device.status().message()));
  }
  if (dialect_ == Dialect::kV5) {
    StartQueue<V5>(std::move(grant), *std::move(device));
  } else {
    StartQueue<Ref>(std::move(grant), *std::move(device));
  }
}

template <Codec C>
void TargetConnection::StartControl(std::shared_ptr<ControlPlace> place) {
  auto stream =
      std::make_unique<TargetStream<C>>(host_, directory_, link_, connect_.command_id, now_);
  stream->set_wake([this] { Wake(); });
  stream->StartControl(std::move(place));
  Run(std::move(stream));
  Tell(NewEvent(TargetEventKind::kSessionAccepted));
}

template <Codec C>
void TargetConnection::StartQueue(QueueGrant grant, std::unique_ptr<DeviceQueue> device) {
  auto stream =
      std::make_unique<TargetStream<C>>(host_, directory_, link_, connect_.command_id, now_);
  stream->set_wake([this] { Wake(); });
  stream->StartQueue(std::move(grant), std::move(device));
  Run(std::move(stream));
  if (on_virtqueue_) on_virtqueue_();
  Tell(NewEvent(TargetEventKind::kQueueAccepted));
}

void TargetConnection::Run(std::unique_ptr<StreamEngine> queue) {
  queue_ = std::move(queue);
  deadline_ = kInfiniteFuture;
}

TargetEvent TargetConnection::NewEvent(TargetEventKind kind) const {
  TargetEvent event;
  event.kind = kind;
  event.dialect = dialect_;
  event.instance_id = connect_.instance_id;
  event.queue_index = connect_.queue_index;
  event.peer = peer_.address;
  if (peer_.port != 0) event.peer += ":" + std::to_string(peer_.port);
  event.initiator_name = initiator_name_;
  event.target_name = target_name_;
  if (queue_) {  // a virtqueue may have left its names out
    const InstanceIdentity& identity = link_->queue->instance().identity();
    event.instance_id = identity.id;
    event.initiator_name = identity.body.initiator_name;
    event.target_name = identity.body.target_name;
  }
  return event;
}

void TargetConnection::ReportHeld() const {
  if (!queue_) return;
  TargetEvent event = NewEvent(TargetEventKind::kQueueHeld);
  event.end = EndCause::kDevice;
  event.why = "requests that it has not completed keep their memory until it does";
  Tell(event);
}

void TargetConnection::Refuse(Cause cause, std::string why) {
  Completion completion;
  completion.command_id = connect_.command_id;
  completion.cause = cause;
  if (dialect_ == Dialect::kV5) {
    V5::EncodeCompletion(CommandKind::kConnect, completion, refusal_);
  } else {
    Ref::EncodeCompletion(CommandKind::kConnect, completion, refusal_);
  }
  phase_ = Phase::kRefused;
  const bool is_control = connect_.instance_id == kControlInstanceId;
  TargetEvent event =
      NewEvent(is_control ? TargetEventKind::kSessionRefused : TargetEventKind::kQueueRefused);
  event.cause = cause;
  event.why = why.empty() ? std::string(RefusalText(cause)) : std::move(why);
  end_reason_ = "refused: " + event.why;
  Tell(event);
}

void TargetConnection::CloseWithoutAnswer(std::string reason) {
  phase_ = Phase::kClosing;
  end_reason_ = std::move(reason);
  Wake();
}

bool TargetConnection::Advance(MonotonicTime now) {
  now_ = now;
  return queue_ && queue_->Advance(now);
}

int TargetConnection::PrepareWrite(std::span<ConstBuffer> from) {
  if (queue_) return queue_->PrepareWrite(from);
  if (!wants_write()) return 0;
  from[0] =
      ConstBuffer(refusal_.data() + refusal_sent_bytes_, refusal_.size() - refusal_sent_bytes_);
  return 1;
}

void TargetConnection::OnWritten(size_t bytes) {
  if (queue_) return queue_->OnWritten(bytes);
  refusal_sent_bytes_ += bytes;
}

MonotonicTime TargetConnection::NextDeadline() const {
  if (queue_) return queue_->NextDeadline();
  return phase_ == Phase::kCollecting || phase_ == Phase::kWaiting ? deadline_ : kInfiniteFuture;
}

void TargetConnection::OnTimer(MonotonicTime now) {
  now_ = now;
  if (queue_) return queue_->OnTimer(now);
  if (now >= NextDeadline())
    CloseWithoutAnswer("no complete Connect within the handshake time-out");
}

void TargetConnection::OnClosed(CloseReason reason, int error, MonotonicTime now) {
  if (queue_) {
    queue_->OnClosed(reason, error, now);
    TargetEvent event = NewEvent(link_->queue->is_control_queue() ? TargetEventKind::kSessionEnded
                                                                  : TargetEventKind::kQueueEnded);
    event.end = link_->queue->end().cause;
    event.why = link_->queue->end().why;
    return Tell(event);
  }
  if (phase_ != Phase::kRefused) {
    TargetEvent event = NewEvent(TargetEventKind::kConnectionUnused);
    if (end_reason_.empty()) end_reason_ = "closed before a complete Connect";
    event.why = end_reason_;
    Tell(event);
  }
  phase_ = Phase::kClosed;
}

std::string TargetConnection::Describe() const {
  if (queue_) return queue_->Describe();
  return std::string("connection without a queue") +
         (end_reason_.empty() ? "" : " (" + end_reason_ + ")");
}

}  // namespace vof
