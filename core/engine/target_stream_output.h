// SPDX-License-Identifier: Apache-2.0
//
// The acting half of TargetStream (target_stream.h): completions to output, resets, time, and
// endings.
//
//   // included by target_stream.h only
#ifndef VOF_CORE_ENGINE_TARGET_STREAM_OUTPUT_H_
#define VOF_CORE_ENGINE_TARGET_STREAM_OUTPUT_H_

#include "core/base/quoted.h"
#include "core/engine/target_stream.h"  // IWYU pragma: keep

namespace vof {

template <Codec C>
void TargetStream<C>::StartControl(std::shared_ptr<ControlPlace> place) {
  constexpr size_t kStagingBytes = 8u << 10;
  constexpr size_t kPieces = 256;
  control_place_ = std::move(place);
  instance_ = control_place_->instance();
  link_->queue = this;
  writer_.emplace(kStagingBytes, kPieces);
  control_.emplace(ControlServer::Config{directory_, instance_, link_, true});
  AnswerConnect();
  // Replaced before it started: the message about it found nobody.
  if (instance_->closing()) CloseNow(EndCause::kInstanceEnded, "replaced by a newer session");
}

template <Codec C>
void TargetStream<C>::StartQueue(QueueGrant grant, std::unique_ptr<DeviceQueue> device) {
  constexpr size_t kStagingBytes = kMaxReplyBacklogBytes;
  constexpr size_t kPieces = kMaxIovecs;
  queue_place_ = std::move(grant.place);
  instance_ = queue_place_->instance();
  link_->queue = this;
  writer_.emplace(kStagingBytes, kPieces);
  control_.emplace(ControlServer::Config{directory_, instance_, link_, false});
  TargetVirtqueue::Config config;
  config.queue_size = grant.queue_size;
  config.is_v5 = C::kDialect == Dialect::kV5;
  config.max_memory_bytes =
      directory_->options().max_session_bytes / instance_->identity().num_queues;
  config.pool = host_.pool;
  config.state = grant.state;
  config.wake = [this] { Wake(); };
  queue_ = std::make_unique<TargetVirtqueue>(std::move(config), std::move(device));
  AnswerConnect();
}

template <Codec C>
void TargetStream<C>::AnswerConnect() {
  Completion completion;
  completion.command_id = connect_id_;
  completion.instance_id = instance_->identity().id;
  completion.epoch = instance_->device().epoch();
  writer_->WriteReply(CommandKind::kConnect, completion);
}

template <Codec C>
bool TargetStream<C>::Advance(MonotonicTime now) {
  bool moved = false;
  if (queue_) {
    moved |= queue_->Poll();
    if (closed_) {
      queue_->DropCompleted();
    } else {
      moved |= WriteCompleted();
    }
  }
  if (life_.resetting()) moved |= FinishReset(now);
  if (closed_) {
    if (finished()) queue_place_.reset();
    return moved;
  }
  while (stalled_ && life_.goes_on() && !life_.resetting() && ConsumeStash()) {
    moved = true;
    if (queue_) WriteCompleted();
  }
  if (drain_.active && life_.goes_on()) [[unlikely]]
    moved |= ContinueDrain(now);
  if (life_.ending() == Ending::kIdle) moved |= FinishEnding();
  if (queue_) WriteIdleGrant();
  WatchForStall(now);
  return moved;
}

// Turns completions into output while there is room; the others wait.
template <Codec C>
bool TargetStream<C>::WriteCompleted() {
  bool moved = false;
  while (TargetRequest* request = queue_->first_completed()) {
    if (C::kDialect == Dialect::kRef && request->cause != Cause::kOk) [[unlikely]] {
      // Initiators ignore the wire status of a vring command: only the loss of the queue tells
      // them.
      CloseNow(EndCause::kDevice, "the device failed a request without an answer");
      break;
    }
    if (!writer_->HasRoomFor(*request)) break;
    queue_->PopCompleted();
    Completion completion;
    completion.command_id = request->command_id;
    completion.cause = request->cause;
    completion.grant = queue_->OnAnswered(*request);
    if (writer_->WriteResponse(*request, completion)) {
      queue_->KeepUntilSent(request, writer_->out().appended_bytes());
    } else {
      queue_->Release(request);
    }
    moved = true;
  }
  return moved;
}

template <Codec C>
void TargetStream<C>::WriteIdleGrant() {
  if (!life_.goes_on() || !writer_->HasRoomForReply()) return;
  const uint16_t grant = queue_->IdleGrant();
  if (grant == 0) return;
  Completion event;
  event.command_id = kEventCredit;
  event.grant = grant;
  writer_->WriteReply(CommandKind::kVq, event);
}

template <Codec C>
void TargetStream<C>::OnWritten(size_t bytes) {
  writer_->out().Consume(bytes);
  if (queue_) queue_->ReleaseSent(writer_->out().consumed_bytes());
  // What input was waiting for may be there now: room, or a request that is free again.
  if (stalled_ || life_.ending() == Ending::kIdle) Wake();
}

// --- Reset ---

template <Codec C>
void TargetStream<C>::OnReset(const InstanceState& state, std::shared_ptr<Gather> done) {
  if (!queue_) return done->Arrive();
  queue_->BeginReset(state);
  life_.AddReset(std::move(done));
  Wake();
}

template <Codec C>
bool TargetStream<C>::FinishReset(MonotonicTime now) {
  if (queue_->device_in_flight() > 0) {
    life_.WaitForDevice(now, directory_->options().reset_timeout);
    return false;
  }
  life_.Arrive();
  if (closed_) return true;
  queue_->SetState(instance_->state());
  stalled_ = !stash_.empty();
  return true;
}

// --- Time ---

template <Codec C>
MonotonicTime TargetStream<C>::NextDeadline() const {
  if (closed_) return life_.reset_deadline();
  const MonotonicTime silence = DeadlineAfter(last_receive_, control_->silence_limit());
  const bool settling = drain_.active && life_.goes_on() && !DrainMustWait();
  const MonotonicTime settled = settling ? drain_.settled_at : kInfiniteFuture;
  return std::min({life_.reset_deadline(), silence, stall_.next_look(), settled});
}

template <Codec C>
void TargetStream<C>::OnTimer(MonotonicTime now) {
  if (now >= life_.reset_deadline()) {
    // The device does not let go of its requests. The reset is answered all the same; this queue is
    // lost.
    CloseNow(EndCause::kDevice, "the device did not finish its requests within the reset time-out");
    life_.Arrive();
  }
  if (!closed_ && now >= DeadlineAfter(last_receive_, control_->silence_limit())) {
    CloseNow(EndCause::kSilent, "the initiator was silent for too many keepalive intervals");
  }
  if (closed_) return;
  if (drain_.active && life_.goes_on()) ContinueDrain(now);
  if (now < stall_.next_look()) return;
  WatchForStall(now);
  if (stall_.Expired(now)) {
    CloseNow(EndCause::kStalled, "the initiator stopped sending a payload or reading answers");
  }
}

template <Codec C>
void TargetStream<C>::WatchForStall(MonotonicTime now) {
  const OutputQueue& out = writer_->out();
  stall_.Update(receiving_.size_bytes > 0 || !out.empty(), received_bytes_ + out.consumed_bytes(),
                now, queue_ ? queue_->stall_rule() : StallRule());
}

// --- Control ---

template <Codec C>
void TargetStream<C>::OnControlReply(CommandKind kind, const Completion& completion) {
  control_->OnLaterAnswered(completion.command_id);
  if (closed_ || wants_close()) return;
  Reply(kind, completion);
  Wake();
}

template <Codec C>
void TargetStream<C>::OnConfigChanged() {
  if (closed_ || !life_.goes_on()) return;
  for (const ControlReply& reply : control_->OnConfigChanged()) {
    writer_->WriteReply(reply.kind, reply.completion);
  }
  Wake();
}

// --- Endings ---

template <Codec C>
void TargetStream<C>::OnInstanceClosed() {
  if (drain_.active) return EndWhenIdle(EndCause::kDrained, "the target goes down");
  if (life_.goes_on()) {
    CloseNow(EndCause::kInstanceEnded,
             "its control queue ended, a newer session replaced it, or its device was removed");
  }
}

template <Codec C>
void TargetStream<C>::CloseNow(EndCause cause, std::string_view why) {
  life_.CloseNow(cause, why);
  Wake();
}

template <Codec C>
void TargetStream<C>::EndWhenIdle(EndCause cause, std::string_view why) {
  if (!life_.EndWhenIdle(cause, why)) return;
  DropReceiving();
  if (queue_) queue_->CancelReservation();
  // Nobody has to wait for the connection to close before the device is free for the next session.
  if (is_control_queue()) instance_->Close();
  Wake();
}

template <Codec C>
void TargetStream<C>::BeginDrain(Nanoseconds stall_timeout) {
  if (std::exchange(drain_.active, true)) return;
  drain_.sent_before = writer_->out().consumed_bytes();
  stall_.Shorten(stall_timeout);
  Wake();
}

// A turn that receives nothing shows that the peer's requests have all been seen. One that sends
// without a pause, or half a header, is read no more after a while.
template <Codec C>
bool TargetStream<C>::ContinueDrain(MonotonicTime now) {
  if (drain_.settled_at == kInfiniteFuture) {
    drain_.settled_at = DeadlineAfter(now, kDrainSettleTime);
  }
  if (DrainMustWait()) {
    drain_.seen_bytes = Drain::kLookAgain;
    return false;
  }
  const bool quiet = std::exchange(drain_.seen_bytes, received_bytes_) == received_bytes_;
  if ((quiet && stash_.empty()) || now >= drain_.settled_at) {
    EndWhenIdle(EndCause::kDrained, "the target goes down");
    return true;
  }
  if (!quiet) Wake();
  return !quiet;
}

template <Codec C>
bool TargetStream<C>::FinishEnding() {
  if (queue_ && !queue_->idle()) return false;
  if (control_->has_blocking() || !writer_->HasRoomForReply()) return false;
  if (disconnect_id_) {
    Completion completion;
    completion.command_id = *disconnect_id_;
    writer_->WriteReply(CommandKind::kDisconnect, completion);
  }
  life_.Flush();
  return true;
}

template <Codec C>
void TargetStream<C>::DropReceiving() {
  if (receiving_request_ == nullptr) return;
  receiving_ = {};
  queue_->Release(std::exchange(receiving_request_, nullptr));
}

template <Codec C>
void TargetStream<C>::OnClosed(CloseReason reason, int error, MonotonicTime) {
  if (closed_) return;
  closed_ = true;
  life_.OnClosed(reason, error);
  drain_.idle = drain_.active && writer_->out().appended_bytes() == drain_.sent_before;
  writer_->out().Clear();
  stash_.Clear();
  DropReceiving();
  control_place_.reset();
  if (queue_) queue_->Abandon();
  if (finished()) queue_place_.reset();
}

// Whoever drives the engine lets it finish first (StreamEngine::finished). A device that still had
// requests would write into memory that is gone, so there is nothing to go on with.
template <Codec C>
void TargetStream<C>::End() {
  link_->queue = nullptr;
  life_.Arrive();
  if (!queue_) return;
  DropReceiving();
  queue_->End();
}

template <Codec C>
std::string TargetStream<C>::Describe() const {
  const ConnectBody& body = instance_->identity().body;
  std::string text = C::kDialect == Dialect::kV5 ? "v5 " : "ref ";
  text += queue_place_ || queue_ ? "virtqueue" : "control queue";
  text += " of " + Quoted(body.target_name) + " from " + Quoted(body.initiator_name);
  if (!life_.end().why.empty()) text += " (" + life_.end().why + ")";
  return text;
}

}  // namespace vof

#endif  // VOF_CORE_ENGINE_TARGET_STREAM_OUTPUT_H_
