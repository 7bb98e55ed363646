// SPDX-License-Identifier: Apache-2.0
//
// The acting half of TargetKeyed (target_keyed.h): fetches, stores and answers, resets, time, and
// endings.
//
//   // included by target_keyed.h only
#ifndef VOF_CORE_ENGINE_TARGET_KEYED_OUTPUT_H_
#define VOF_CORE_ENGINE_TARGET_KEYED_OUTPUT_H_

#include "core/base/quoted.h"
#include "core/engine/target_keyed.h"  // IWYU pragma: keep

namespace vof {

template <Codec C>
void TargetKeyed<C>::StartControl(std::shared_ptr<ControlPlace> place) {
  control_place_ = std::move(place);
  instance_ = control_place_->instance();
  link_->queue = this;
  control_.emplace(ControlServer::Config{directory_, instance_, link_, true});
  held_.Reserve(static_cast<size_t>(receive_depth()));
  AnswerConnect();
  if (instance_->closing()) CloseNow(EndCause::kInstanceEnded, "replaced by a newer session");
}

template <Codec C>
void TargetKeyed<C>::StartQueue(QueueGrant grant, std::unique_ptr<DeviceQueue> device) {
  queue_place_ = std::move(grant.place);
  instance_ = queue_place_->instance();
  link_->queue = this;
  control_.emplace(ControlServer::Config{directory_, instance_, link_, false});
  TargetVirtqueue::Config config;
  config.queue_size = grant.queue_size;
  config.is_v5 = C::kDialect == Dialect::kV5;
  config.max_memory_bytes =
      directory_->options().max_session_bytes / instance_->identity().num_queues;
  config.copies_results = device->traits().lends_results && !LendAnew();
  config.pool = host_.pool;
  config.state = grant.state;
  config.wake = [this] { Wake(); };
  AgreeOnInline(grant.state);
  queue_ = std::make_unique<TargetVirtqueue>(std::move(config), std::move(device));
  held_.Reserve(static_cast<size_t>(receive_depth()));
  AnswerConnect();
}

// Results are sent from where the device keeps them if all of it is registered.
template <Codec C>
bool TargetKeyed<C>::LendAnew() {
  if (!lend_) return false;
  const LentRegions lent = lend_(instance_->identity());
  for (const std::shared_ptr<Region>& region : lent.regions) {
    regions_.Add(Region::Share(region));  // refused when it is there already
  }
  return lent.complete;
}

template <Codec C>
void TargetKeyed<C>::AgreeOnInline(const InstanceState& state) {
  limits_.inline_accepted = (state.transport_features & transport_feature::kInline) != 0;
  limits_.max_inline_request_bytes = state.inline_request_bytes;
  limits_.max_inline_completion_bytes = state.inline_completion_bytes;
}

template <Codec C>
void TargetKeyed<C>::AnswerConnect() {
  Completion completion;
  completion.command_id = connect_id_;
  completion.instance_id = instance_->identity().id;
  completion.epoch = instance_->device().epoch();
  Reply(CommandKind::kConnect, completion);
}

template <Codec C>
void TargetKeyed<C>::Reply(CommandKind kind, const Completion& completion) {
  std::byte header[kHeaderBytes];
  C::EncodeCompletion(kind, completion, HeaderOut(header, size_t{kHeaderBytes}));
  ring_.Push(ActionKind::kSend, kTagReply).Append(header);
  ++sends_;
}

template <Codec C>
bool TargetKeyed<C>::Advance(MonotonicTime now) {
  bool moved = false;
  if (queue_) {
    moved |= queue_->Poll();
    if (closed_) queue_->DropCompleted();
  }
  if (life_.resetting()) moved |= FinishReset(now);
  if (closed_) {
    if (finished()) queue_place_.reset();
    return moved;
  }
  if (!held_.empty()) {
    const size_t before = held_.size();
    ConsumeHeld();
    moved |= held_.size() != before;
  }
  Produce();
  if (draining_ && life_.goes_on() && held_.empty() && now >= drain_settled_at_) {
    EndWhenIdle(EndCause::kDrained, "the target goes down");
    moved = true;
  }
  if (life_.ending() == TargetQueueLife::Ending::kIdle) moved |= FinishEnding();
  if (queue_) WriteIdleGrant();
  WatchForStall(now);
  return moved;
}

// Fetches first: they keep the device waiting. Half of the ring is left for replies.
template <Codec C>
void TargetKeyed<C>::Produce() {
  if (!queue_) return;
  while (ProduceFetches()) {
  }
  while (ProduceResponses()) {
  }
}

// Posts one fetch. False: there is nothing to fetch, or no room.
template <Codec C>
bool TargetKeyed<C>::ProduceFetches() {
  if (ring_.room() <= kKeptActions) return false;
  if (fetching_.request == nullptr) {
    if (to_fetch_.empty()) return false;
    TargetRequest* request = to_fetch_.PopFront();
    const uint32_t remote_bytes = request->keyed.writable_offset;
    fetching_ = {request, RemoteCursor<C>(request->keyed.descriptors, 0),
                 request->out_place + (request->readable_bytes - remote_bytes), remote_bytes};
  }
  TargetRequest* request = fetching_.request;
  const Region* region = regions_.Find(fetching_.place, fetching_.left_bytes);
  if (region == nullptr) {
    CloseNow(EndCause::kDevice, "memory of the pool is not registered");
    return false;
  }
  MessageAction& action = ring_.Push(ActionKind::kFetch, TagOf(request, kTagFetch));
  action.remote = fetching_.remote.Next(fetching_.left_bytes);
  action.local = {fetching_.place, action.remote.size_bytes, region->local_key()};
  ++request->keyed.posts;
  ++transfers_;
  fetching_.place += action.remote.size_bytes;
  fetching_.left_bytes -= action.remote.size_bytes;
  if (fetching_.left_bytes == 0) fetching_.request = nullptr;
  return true;
}

// Takes one step of an answer. False: nothing is completed, or no room.
template <Codec C>
bool TargetKeyed<C>::ProduceResponses() {
  constexpr size_t kMostOfOneStep = 2;
  if (ring_.room() < kKeptActions + kMostOfOneStep || life_.wants_close()) return false;
  if (!response_.active()) {
    responding_ = queue_->first_completed();
    if (responding_ == nullptr || !BeginResponse()) return false;
    queue_->PopCompleted();
  }
  if (response_.PushStore(ring_, regions_, TagOf(responding_, kTagStore))) {
    ++responding_->keyed.posts;
    ++transfers_;
  } else {
    FinishResponse();
  }
  return true;
}

template <Codec C>
bool TargetKeyed<C>::BeginResponse() {
  const bool failed = responding_->cause != Cause::kOk;
  if (C::kDialect == Dialect::kRef && failed) {
    CloseNow(EndCause::kDevice, "the device failed a request without an answer");
    return false;
  }
  if (!response_.Begin(responding_, limits_, regions_)) {
    CloseNow(EndCause::kDevice, "a result has no place to go to");
    return false;
  }
  if (!response_.registered()) {  // the device has grown
    const bool complete = LendAnew();
    response_.FindKeys(regions_);
    queue_->set_copies_results(!complete || !response_.registered());
  }
  return true;
}

// The receive is posted again before the credit goes back.
template <Codec C>
void TargetKeyed<C>::FinishResponse() {
  TargetRequest* request = responding_;
  ReturnReceive(request->keyed.receive_tag);
  Completion completion;
  completion.command_id = request->command_id;
  completion.cause = request->cause;
  completion.grant = queue_->OnAnswered(*request);
  response_.PushCompletion(ring_, completion, regions_, TagOf(request, kTagSend));
  request->keyed.answered = true;
  ++request->keyed.posts;
  ++sends_;
}

template <Codec C>
void TargetKeyed<C>::ReleaseIfDone(TargetRequest* request) {
  if (!request->keyed.answered || request->keyed.posts > 0) return;
  --requests_;
  queue_->Release(request);
  if (stalled_) Wake();
}

template <Codec C>
void TargetKeyed<C>::WriteIdleGrant() {
  if (!life_.goes_on() || !HasRoomForReply()) return;
  const uint16_t grant = queue_->IdleGrant();
  if (grant == 0) return;
  Completion event;
  event.command_id = kEventCredit;
  event.grant = grant;
  Reply(CommandKind::kVq, event);
}

// --- Reset ---

template <Codec C>
void TargetKeyed<C>::OnInstanceState(const InstanceState& state) {
  if (!queue_) return;
  AgreeOnInline(state);
  queue_->SetState(state);
}

template <Codec C>
void TargetKeyed<C>::OnReset(const InstanceState& state, std::shared_ptr<Gather> done) {
  if (!queue_) return done->Arrive();
  queue_->BeginReset(state);
  life_.AddReset(std::move(done));
  Wake();
}

template <Codec C>
bool TargetKeyed<C>::FinishReset(MonotonicTime now) {
  if (queue_->device_in_flight() > 0) {
    life_.WaitForDevice(now, directory_->options().reset_timeout);
    return false;
  }
  life_.Arrive();
  if (!closed_) queue_->SetState(instance_->state());
  return true;
}

// --- Time ---

template <Codec C>
MonotonicTime TargetKeyed<C>::NextDeadline() const {
  if (closed_) return life_.reset_deadline();
  const MonotonicTime silence = DeadlineAfter(last_receive_, control_->silence_limit());
  const MonotonicTime settled = life_.goes_on() ? drain_settled_at_ : kInfiniteFuture;
  return std::min({life_.reset_deadline(), silence, stall_.next_look(), settled});
}

template <Codec C>
void TargetKeyed<C>::OnTimer(MonotonicTime now) {
  if (now >= life_.reset_deadline()) {
    CloseNow(EndCause::kDevice, "the device did not finish its requests within the reset time-out");
    life_.Arrive();
  }
  if (closed_) return;
  if (now >= DeadlineAfter(last_receive_, control_->silence_limit())) {
    CloseNow(EndCause::kSilent, "the initiator was silent for too many keepalive intervals");
  }
  if (draining_) Wake();
  WatchForStall(now);
  if (stall_.Expired(now)) {
    CloseNow(EndCause::kStalled, "the fabric or the initiator made no progress with an answer");
  }
}

// Whatever was posted comes back in time, unless the peer has no receive for it, or stands still.
template <Codec C>
void TargetKeyed<C>::WatchForStall(MonotonicTime now) {
  const bool owes = sends_ > 0 || transfers_ > 0 || response_.active() ||
                    fetching_.request != nullptr || !to_fetch_.empty();
  stall_.Update(owes, moved_bytes_, now, queue_ ? queue_->stall_rule() : StallRule());
}

// --- Control ---

template <Codec C>
void TargetKeyed<C>::OnControlReply(CommandKind kind, const Completion& completion) {
  control_->OnLaterAnswered(completion.command_id);
  if (closed_ || life_.wants_close()) return;
  Reply(kind, completion);
  Wake();
}

template <Codec C>
void TargetKeyed<C>::OnConfigChanged() {
  if (closed_ || !life_.goes_on()) return;
  for (const ControlReply& reply : control_->OnConfigChanged()) {
    Reply(reply.kind, reply.completion);
  }
  Wake();
}

// --- Endings ---

template <Codec C>
void TargetKeyed<C>::OnInstanceClosed() {
  if (!life_.goes_on()) return;
  CloseNow(EndCause::kInstanceEnded,
           "its control queue ended, a newer session replaced it, or its device was removed");
}

template <Codec C>
void TargetKeyed<C>::EndWhenIdle(EndCause cause, std::string_view why) {
  if (!life_.EndWhenIdle(cause, why)) return;
  if (queue_) queue_->CancelReservation();
  if (is_control_queue()) instance_->Close();
  Wake();
}

template <Codec C>
void TargetKeyed<C>::BeginDrain(Nanoseconds stall_timeout) {
  if (std::exchange(draining_, true)) return;
  stall_.Shorten(stall_timeout);
  drained_idle_ = requests_ == 0 && held_.empty();
  drain_settled_at_ = DeadlineAfter(last_receive_, kDrainSettleTime);
  Wake();
}

template <Codec C>
bool TargetKeyed<C>::FinishEnding() {
  if (queue_ && (!queue_->idle() || requests_ > 0)) return false;
  if (control_->has_blocking() || !HasRoomForReply()) return false;
  if (disconnect_id_) {
    Completion completion;
    completion.command_id = *disconnect_id_;
    Reply(CommandKind::kDisconnect, completion);
  }
  life_.Flush();
  return true;
}

// The channel has given everything back: no fetch or store touches a request any more.
template <Codec C>
void TargetKeyed<C>::OnClosed(CloseReason reason, int error, MonotonicTime) {
  if (closed_) return;
  closed_ = true;
  life_.OnClosed(reason, error);
  ring_.Clear();
  held_.Clear();
  control_place_.reset();
  if (queue_) queue_->Abandon();
  response_ = {};
  fetching_ = {};
  regions_.Clear();
  if (finished()) queue_place_.reset();
}

template <Codec C>
void TargetKeyed<C>::End() {
  link_->queue = nullptr;
  life_.Arrive();
  if (!queue_) return;
  queue_->End();
}

template <Codec C>
std::string TargetKeyed<C>::Describe() const {
  const ConnectBody& body = instance_->identity().body;
  std::string text = C::kDialect == Dialect::kV5 ? "v5 " : "ref ";
  text += "keyed ";
  text += queue_place_ || queue_ ? "virtqueue" : "control queue";
  text += " of " + Quoted(body.target_name) + " from " + Quoted(body.initiator_name);
  if (!life_.end().why.empty()) text += " (" + life_.end().why + ")";
  return text;
}

}  // namespace vof

#endif  // VOF_CORE_ENGINE_TARGET_KEYED_OUTPUT_H_
