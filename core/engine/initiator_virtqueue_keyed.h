// SPDX-License-Identifier: Apache-2.0
//
// One virtqueue of an initiator over a message channel: Connect, then requests and responses. The
// target fetches and stores data by itself, in memory that this side has registered.
//
//   auto queue = std::make_shared<InitiatorQueue>(queue_options);
//   auto engine = std::make_unique<InitiatorVirtqueueKeyed<V5>>(options, keyed_options, queue);
//   reactor->Add(link->AttachMessages(std::move(engine)));
//   queue->Submit(&request);                    // from now on, on the reactor's thread
//
// Pieces that no registered region covers go through memory of the pool, or are registered for
// their request if the options say so. Any rule that the target breaks closes the connection;
// requests end when the channel has given everything back. See message_engine.h for how an engine
// is driven.
#ifndef VOF_CORE_ENGINE_INITIATOR_VIRTQUEUE_KEYED_H_
#define VOF_CORE_ENGINE_INITIATOR_VIRTQUEUE_KEYED_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/engine/action_ring.h"
#include "core/engine/initiator_queue.h"
#include "core/engine/initiator_status.h"
#include "core/engine/initiator_virtqueue_options.h"
#include "core/engine/keyed_connect.h"
#include "core/engine/keyed_request_builder.h"
#include "core/engine/message_engine.h"
#include "core/engine/request_registrar.h"
#include "core/engine/shown_memory.h"
#include "core/memory/buffer_pool.h"
#include "core/memory/pool_reservation.h"
#include "core/transport/domain.h"
#include "core/transport/region_map.h"
#include "core/wire/codec.h"

namespace vof {

struct InitiatorKeyedOptions {
  KeyedLimits limits;                  // inline sizes, as agreed
  const RegionMap* regions = nullptr;  // the pool's memory among them; outlives the engine
  BufferPool* pool = nullptr;          // outlives the engine
  // Where pieces of single requests are registered; outlives the engine. Null: nowhere.
  Domain* domain = nullptr;
  RequestRegistration registration = {};
};

template <Codec C>
class InitiatorVirtqueueKeyed final : public MessageEngine {
 public:
  InitiatorVirtqueueKeyed(InitiatorVirtqueueOptions options, const InitiatorKeyedOptions& keyed,
                          std::shared_ptr<InitiatorQueue> queue)
      : options_(std::move(options)),
        keyed_(keyed),
        queue_(std::move(queue)),
        ring_(static_cast<size_t>(queue_->options().queue_size) + kSpareReceives + kSendActions),
        registrar_(keyed.domain, keyed.registration),
        reservation_(keyed_.pool, [this] { Wake(); }),
        shown_(queue_->options().queue_size),
        sends_(kSendActions) {
    for (size_t i = sends_.size(); i > 0; --i) free_sends_.push_back(static_cast<uint32_t>(i));
    queue_->set_wake([this] { Wake(); });
  }
  ~InitiatorVirtqueueKeyed() override {
    if (!reported_) queue_->set_wake(nullptr);
  }

  // Takes no more requests; tells on_drained when those it has are done. Wakes the connection.
  void Drain() {
    queue_->Drain();
    draining_ = true;
    Wake();
  }
  // `region` was taken from the regions of the options: it ends when no request in flight shows it
  // any more.
  void EndRegion(Region region) {
    const auto shared = std::make_shared<Region>(std::move(region));
    for (size_t id = 0; id < shown_.size(); ++id) {
      const InitiatorRequest* request = queue_->Find(static_cast<uint16_t>(id));
      if (request != nullptr && Touches(*request, shared->bytes())) {
        shown_[id].ending.push_back(shared);
      }
    }
  }
  InitiatorQueue& queue() { return *queue_; }
  const absl::Status& status() const { return status_; }

  // --- MessageEngine ---
  int receive_depth() const override { return queue_->options().queue_size + kSpareReceives; }

  void OnEvents(std::span<const ChannelEvent> events, MonotonicTime) override {
    if (closed_) return;
    for (const ChannelEvent& event : events) {
      if (event.kind == ChannelEventKind::kSent) {
        sends_[event.tag - 1].Release();
        free_sends_.push_back(static_cast<uint32_t>(event.tag));
      } else if (event.kind == ChannelEventKind::kReceived) {
        OnMessage(event);
        ring_.Push(ActionKind::kReturnReceive, event.tag);
      }
    }
  }

  std::span<const MessageAction> PendingActions() override {
    if (!closed_) Encode();
    return ring_.pending();
  }
  void OnPosted(size_t count) override { ring_.Pop(count); }
  bool has_output() const override { return !ring_.empty() || free_sends_.size() < sends_.size(); }

  bool Advance(MonotonicTime now) override {
    if (!started_) Start(now);
    bool moved = false;
    if (report_connected_) {
      report_connected_ = false;
      moved = true;
      if (options_.on_connected) options_.on_connected();
    }
    if (closed_) moved |= ReportEnd();
    moved |= queue_->DeliverDone() > 0;
    queue_->Admit(now);
    if (!closed_) moved |= Encode() > 0;
    if (draining_ && queue_->outstanding() == 0) {
      draining_ = false;
      moved = true;
      if (options_.on_drained) options_.on_drained();
    }
    return moved;
  }
  bool has_pending_work() const override {
    return queue_->has_work() || report_connected_ || (closed_ && !reported_);
  }
  int work_fd() const override { return -1; }

  MonotonicTime NextDeadline() const override {
    if (wants_close_ || closed_) return kInfiniteFuture;
    return std::min(connect_deadline_, queue_->NextDeadline());
  }
  void OnTimer(MonotonicTime now) override {
    if (wants_close_ || closed_) return;
    if (now >= connect_deadline_) {
      Fail(RequestError::kClosed, TimedOutStatus("no answer to connect of " + Name()));
    } else if (queue_->Expire(now)) {
      Fail(RequestError::kClosed, LateRequestStatus(Name(), queue_->late_after()));
    }
  }

  bool wants_close() const override { return wants_close_; }
  bool flush_before_close() const override { return false; }
  void OnClosed(CloseReason reason, int error, MonotonicTime) override {
    if (closed_) return;
    if (!wants_close_) Fail(RequestError::kClosed, LostStatus(reason, error));
    closed_ = true;
    ring_.Clear();
    reservation_.Cancel();
    for (PoolBuffer& send : sends_) send.Release();
    for (ShownMemory& shown : shown_) shown = {};
    body_.Release();
    queue_->End(request_error_);
  }
  bool finished() const override { return reported_ && queue_->outstanding() == 0; }
  std::string Describe() const override {
    std::string text = std::string(C::kDialect == Dialect::kV5 ? "v5 keyed " : "ref keyed ") +
                       Name() + " of '" + options_.body.target_name + "'";
    if (!status_.ok()) text += ": " + std::string(status_.message());
    return text;
  }

 private:
  static constexpr int kSpareReceives = 2;
  static constexpr size_t kSendActions = 256;  // commands whose sending was not confirmed yet

  std::string Name() const { return "virtqueue " + std::to_string(options_.queue_index); }

  void Start(MonotonicTime now) {
    started_ = true;
    connect_deadline_ = DeadlineAfter(now, options_.connect_timeout);
    Command connect;
    connect.kind = CommandKind::kConnect;
    connect.instance_id = options_.instance_id;
    connect.queue_index = options_.queue_index;
    connect.queue_size = queue_->options().queue_size;
    const absl::Status status = PushKeyedConnect<C>(connect, options_.body, *keyed_.regions,
                                                    *keyed_.pool, TakeSend(), ring_, &body_);
    if (!status.ok()) Fail(RequestError::kClosed, status);
  }

  uint32_t TakeSend() {
    const uint32_t tag = free_sends_.back();
    free_sends_.pop_back();
    return tag;
  }

  void OnMessage(const ChannelEvent& event) {
    if (wants_close_) return;
    WireError error = WireError::kMessageLength;
    if (event.has_immediate) {
      error = WireError::kUnexpectedEvent;
    } else if (event.message.size() >= kHeaderBytes) {
      error = connected_ ? OnCompletion(event.message) : OnConnectAnswer(event.message);
    }
    if (error != WireError::kNone) Fail(RequestError::kProtocol, ProtocolStatus(error));
  }

  WireError OnConnectAnswer(std::span<const std::byte> message) {
    const Completion completion =
        C::DecodeCompletion(CommandKind::kConnect, message.first<kHeaderBytes>());
    if (message.size() != kHeaderBytes) return WireError::kMessageLength;
    if (completion.command_id != 0) return WireError::kUnknownCommandId;
    if (!completion.ok()) {
      Fail(RequestError::kClosed, RefusedQueueStatus(C::kDialect, Name(), completion));
      return WireError::kNone;
    }
    body_.Release();
    connected_ = true;
    report_connected_ = true;
    connect_deadline_ = kInfiniteFuture;
    queue_->Open();
    return WireError::kNone;
  }

  WireError OnCompletion(std::span<const std::byte> message) {
    const Completion completion =
        C::DecodeCompletion(CommandKind::kVq, message.first<kHeaderBytes>());
    InitiatorRequest* request = queue_->Find(completion.command_id);
    if (request == nullptr) return queue_->OnUnasked(completion, C::kDialect);
    ShownMemory& shown = shown_[completion.command_id];
    const WireError error = CheckAnswer(*request, shown, completion, message.size());
    if (error != WireError::kNone) return error;
    const uint32_t inline_bytes = static_cast<uint32_t>(message.size() - kHeaderBytes);
    const uint32_t stored = completion.used_length - inline_bytes;
    if (shown.bounce_in) {
      ScatterBounced(*request, shown.bounced_in, shown.bounce_in.data(), stored);
    }
    ScatterWritable(*request, stored, message.subspan(kHeaderBytes));
    shown = {};
    return queue_->Answer(request, completion, UINT64_MAX);
  }

  WireError CheckAnswer(const InitiatorRequest& request, const ShownMemory& shown,
                        const Completion& completion, size_t message_bytes) const {
    if (completion.used_length > request.writable_bytes) return WireError::kUsedLength;
    if (!completion.ok() && completion.used_length != 0) return WireError::kUsedLength;
    const size_t inline_bytes = message_bytes - kHeaderBytes;
    if constexpr (C::kDialect == Dialect::kRef) {
      if (completion.ndesc != shown.num_writable) return WireError::kCompletionDescriptors;
      return inline_bytes == 0 ? WireError::kNone : WireError::kMessageLength;
    }
    if (completion.inline_length != inline_bytes) return WireError::kMessageLength;
    if (!keyed_.limits.inline_accepted && inline_bytes > 0) return WireError::kInlineLength;
    if (inline_bytes > keyed_.limits.max_inline_completion_bytes ||
        inline_bytes > completion.used_length) {
      return WireError::kInlineLength;
    }
    const bool has_place = shown.shows_writable || inline_bytes == completion.used_length;
    return has_place ? WireError::kNone : WireError::kUsedLength;
  }

  // Lays requests out as far as window, memory and room allow; returns how many.
  int Encode() {
    int encoded = 0;
    const InitiatorRequest* next = nullptr;
    while ((next = queue_->NextToSend()) != nullptr) {
      const size_t kept = static_cast<size_t>(receive_depth());  // for receives to be returned
      if (wants_close_ || free_sends_.empty() || ring_.room() <= kept) break;
      ShownMemory shown;
      shown.own = registrar_.Cover(*next, keyed_.limits, *keyed_.regions);
      const KeyedPlan plan = PlanKeyedRequest<C>(*next, keyed_.limits, MapsOf(shown));
      const uint32_t message_bytes = plan.message_bytes > kMinInlineBytes ? plan.message_bytes : 0;
      if (!reservation_.Reserve({plan.in.bounce_bytes, plan.out.bounce_bytes, message_bytes})) {
        break;
      }
      shown.bounce_in = reservation_.Take(0);
      shown.bounce_out = reservation_.Take(1);
      Send(*queue_->Take(), plan, reservation_.Take(2), std::move(shown));
      ++encoded;
    }
    // What waited for memory may be late and gone: those behind must not wait for it.
    if (next == nullptr || wants_close_) reservation_.Cancel();
    return encoded;
  }

  KeyedMaps MapsOf(const ShownMemory& shown) const {
    if (shown.own != nullptr) return {&shown.own->out, &shown.own->in};
    return {keyed_.regions, keyed_.regions};
  }

  void Send(const InitiatorRequest& request, const KeyedPlan& plan, PoolBuffer message,
            ShownMemory shown) {
    KeyedBounce bounce;
    bounce.out = shown.bounce_out.data();
    bounce.in = shown.bounce_in.data();
    if (bounce.out) bounce.out_region = keyed_.regions->Find(bounce.out, plan.out.bounce_bytes);
    if (bounce.in) bounce.in_region = keyed_.regions->Find(bounce.in, plan.in.bounce_bytes);
    const uint32_t tag = TakeSend();
    MessageAction& action = ring_.Push(ActionKind::kSend, tag);
    std::byte* place = message ? message.data() : action.bytes.data();
    const uint32_t size_bytes = EncodeKeyedRequest<C>(request, plan, MapsOf(shown), bounce,
                                                      keyed_.limits.inline_accepted, place);
    action.local = {place, size_bytes, nullptr};
    if (message) action.local.local_key = keyed_.regions->Find(place, size_bytes)->local_key();
    sends_[tag - 1] = std::move(message);
    shown.bounced_in = plan.in.bounced;
    shown.shows_writable = plan.shows_writable;
    shown.num_writable = static_cast<uint16_t>(plan.in.num_descriptors);
    shown_[request.command_id] = std::move(shown);
  }

  // Stops I/O and asks for the close; requests end in OnClosed, when nothing touches their buffers.
  void Fail(RequestError request_error, absl::Status status) {
    if (wants_close_) return;
    wants_close_ = true;
    request_error_ = request_error;
    status_ = std::move(status);
  }
  bool ReportEnd() {
    if (reported_) return false;
    reported_ = true;
    queue_->set_wake(nullptr);
    if (options_.on_ended) options_.on_ended(status_);
    return true;
  }

  const InitiatorVirtqueueOptions options_;
  const InitiatorKeyedOptions keyed_;
  const std::shared_ptr<InitiatorQueue> queue_;
  ActionRing ring_;
  RequestRegistrar registrar_;
  PoolReservation reservation_;       // for the next request
  std::vector<ShownMemory> shown_;    // by command id
  std::vector<PoolBuffer> sends_;     // by tag - 1; empty for those in the action itself
  std::vector<uint32_t> free_sends_;  // tags
  PoolBuffer body_;                   // of Connect, which the target fetches
  MonotonicTime connect_deadline_ = kInfiniteFuture;
  absl::Status status_;
  RequestError request_error_ = RequestError::kClosed;
  bool started_ = false;
  bool connected_ = false;
  bool report_connected_ = false;
  bool draining_ = false;
  bool wants_close_ = false;
  bool closed_ = false;
  bool reported_ = false;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_INITIATOR_VIRTQUEUE_KEYED_H_
