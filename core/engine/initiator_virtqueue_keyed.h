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
// Buffers that no registered region covers go through memory of the pool. Any rule that the target
// breaks closes the connection; requests end when the channel has given everything back. See
// message_engine.h for how an engine is driven.
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
#include "core/memory/buffer_pool.h"
#include "core/transport/region_map.h"
#include "core/wire/codec.h"

namespace vof {

struct InitiatorKeyedOptions {
  KeyedLimits limits;                  // inline sizes, as agreed
  const RegionMap* regions = nullptr;  // the pool's memory among them; outlives the engine
  BufferPool* pool = nullptr;          // outlives the engine
};

template <Codec C>
class InitiatorVirtqueueKeyed final : public MessageEngine, public PoolWaiter {
 public:
  InitiatorVirtqueueKeyed(InitiatorVirtqueueOptions options, const InitiatorKeyedOptions& keyed,
                          std::shared_ptr<InitiatorQueue> queue)
      : options_(std::move(options)),
        keyed_(keyed),
        queue_(std::move(queue)),
        ring_(static_cast<size_t>(queue_->options().queue_size) + kSpareReceives + kSendActions),
        in_flight_(queue_->options().queue_size),
        sends_(kSendActions) {
    for (size_t i = sends_.size(); i > 0; --i) free_sends_.push_back(static_cast<uint32_t>(i));
    queue_->set_wake([this] { Wake(); });
  }
  ~InitiatorVirtqueueKeyed() override {
    keyed_.pool->Forget(this);
    if (!reported_) queue_->set_wake(nullptr);
  }

  // Takes no more requests; tells on_drained when those it has are done. Wakes the connection.
  void Drain() {
    queue_->Drain();
    draining_ = true;
    Wake();
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
    keyed_.pool->Forget(this);
    for (PoolBuffer& send : sends_) send.Release();
    for (InFlight& flight : in_flight_) flight = {};
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

  // --- PoolWaiter ---
  void OnPoolMayHaveMemory() override { Wake(); }

 private:
  static constexpr int kSpareReceives = 2;
  static constexpr size_t kSendActions = 256;  // commands whose sending was not confirmed yet

  // What a request in flight needs beside its own buffers, by command id.
  struct InFlight {
    PoolBuffer bounce_out, bounce_in;
    uint16_t num_writable = 0;  // `ref`: descriptors to be counted in the answer
    bool shows_writable = false;
  };

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
      Fail(RequestError::kClosed, RefusedStatus(C::kDialect, "connect of " + Name(), completion));
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
    InFlight& flight = in_flight_[completion.command_id];
    const WireError error = CheckAnswer(*request, flight, completion, message.size());
    if (error != WireError::kNone) return error;
    const uint32_t inline_bytes = static_cast<uint32_t>(message.size() - kHeaderBytes);
    const uint32_t stored = completion.used_length - inline_bytes;
    if (flight.bounce_in && stored > 0) {
      ScatterWritable(*request, 0, {flight.bounce_in.data(), stored});
    }
    ScatterWritable(*request, stored, message.subspan(kHeaderBytes));
    flight = {};
    return queue_->Answer(request, completion, UINT64_MAX);
  }

  WireError CheckAnswer(const InitiatorRequest& request, const InFlight& flight,
                        const Completion& completion, size_t message_bytes) const {
    if (completion.used_length > request.writable_bytes) return WireError::kUsedLength;
    if (!completion.ok() && completion.used_length != 0) return WireError::kUsedLength;
    const size_t inline_bytes = message_bytes - kHeaderBytes;
    if constexpr (C::kDialect == Dialect::kRef) {
      if (completion.ndesc != flight.num_writable) return WireError::kCompletionDescriptors;
      return inline_bytes == 0 ? WireError::kNone : WireError::kMessageLength;
    }
    if (completion.inline_length != inline_bytes) return WireError::kMessageLength;
    if (!keyed_.limits.inline_accepted && inline_bytes > 0) return WireError::kInlineLength;
    if (inline_bytes > keyed_.limits.max_inline_completion_bytes ||
        inline_bytes > completion.used_length) {
      return WireError::kInlineLength;
    }
    const bool has_place = flight.shows_writable || inline_bytes == completion.used_length;
    return has_place ? WireError::kNone : WireError::kUsedLength;
  }

  // Lays requests out as far as window, memory and room allow; returns how many.
  int Encode() {
    int encoded = 0;
    while (const InitiatorRequest* next = queue_->NextToSend()) {
      const size_t kept = static_cast<size_t>(receive_depth());  // for receives to be returned
      if (wants_close_ || free_sends_.empty() || ring_.room() <= kept) break;
      const KeyedPlan plan = PlanKeyedRequest<C>(*next, keyed_.limits, *keyed_.regions);
      PoolBuffer message, out, in;
      if (!Allocate(plan, &message, &out, &in)) break;
      const InitiatorRequest* request = queue_->Take();
      Send(*request, plan, std::move(message), std::move(out), std::move(in));
      ++encoded;
    }
    return encoded;
  }

  // Everything or nothing; in the second case this waits for the pool.
  bool Allocate(const KeyedPlan& plan, PoolBuffer* message, PoolBuffer* out, PoolBuffer* in) {
    const auto take = [this](uint32_t size_bytes, PoolBuffer* buffer) {
      if (size_bytes == 0) return true;
      *buffer = keyed_.pool->Allocate(size_bytes, this);
      if (!*buffer) keyed_.pool->WaitFor(size_bytes, this);
      return static_cast<bool>(*buffer);
    };
    const uint32_t message_bytes = plan.message_bytes > kMinInlineBytes ? plan.message_bytes : 0;
    return take(plan.bounce_in_bytes, in) && take(plan.bounce_out_bytes, out) &&
           take(message_bytes, message);
  }

  void Send(const InitiatorRequest& request, const KeyedPlan& plan, PoolBuffer message,
            PoolBuffer out, PoolBuffer in) {
    KeyedBounce bounce;
    bounce.out = out.data();
    bounce.in = in.data();
    if (out) bounce.region = keyed_.regions->Find(out.data(), plan.bounce_out_bytes);
    if (in) bounce.region = keyed_.regions->Find(in.data(), plan.bounce_in_bytes);
    const uint32_t tag = TakeSend();
    MessageAction& action = ring_.Push(ActionKind::kSend, tag);
    std::byte* place = message ? message.data() : action.bytes.data();
    const uint32_t size_bytes = EncodeKeyedRequest<C>(request, plan, *keyed_.regions, bounce,
                                                      keyed_.limits.inline_accepted, place);
    action.local = {place, size_bytes, nullptr};
    if (message) action.local.local_key = keyed_.regions->Find(place, size_bytes)->local_key();
    sends_[tag - 1] = std::move(message);
    InFlight& flight = in_flight_[request.command_id];
    flight.bounce_out = std::move(out);
    flight.bounce_in = std::move(in);
    flight.shows_writable = plan.shows_writable;
    flight.num_writable = static_cast<uint16_t>(NumWritable(request, plan));
  }

  static size_t NumWritable(const InitiatorRequest& request, const KeyedPlan& plan) {
    if (plan.bounce_in_bytes > 0) return 1;
    return static_cast<size_t>(
        std::count_if(request.writable.begin(), request.writable.end(),
                      [](const MutableBuffer& piece) { return piece.size_bytes > 0; }));
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
  std::vector<InFlight> in_flight_;
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
