// SPDX-License-Identifier: Apache-2.0
//
// A target's virtqueue without its transmission: which commands are taken, with what memory, and
// what becomes of them.
//
//   switch (queue.Admit(shape, payload_in_place, &request)) { ... }   // takes everything or
//   nothing queue.Submit(request);  ...  queue.Flush();                       // one device call
//   per batch while (TargetRequest* r = queue.first_completed()) { ... queue.PopCompleted();
//   queue.Release(r); }
//
// Policy of the protocol lives here: unique command ids, credits, the status gate, memory reserved
// in one step before a payload is read. One thread: the reactor of the queue.
#ifndef VOF_CORE_ENGINE_TARGET_VIRTQUEUE_H_
#define VOF_CORE_ENGINE_TARGET_VIRTQUEUE_H_

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "core/base/check.h"
#include "core/device/device.h"
#include "core/engine/credit_window.h"
#include "core/engine/queue_end.h"
#include "core/engine/queue_link.h"
#include "core/engine/stall_watch.h"
#include "core/engine/target_request.h"
#include "core/engine/target_request_layout.h"
#include "core/engine/virtio_status.h"
#include "core/memory/buffer_pool.h"
#include "core/memory/pool_reservation.h"

namespace vof {

// What a command asks for, as parsed and within the limits.
struct RequestShape {
  uint16_t command_id = 0;
  uint16_t num_segments = 0;  // `ref`: device-writable ones
  uint32_t out_bytes = 0;
  uint32_t in_bytes = 0;
  std::span<const std::byte> segments;  // their descriptors as received, to be echoed
  uint32_t message_bytes = 0;           // keyed: room for the message of the answer
};

enum class Admission : uint8_t {
  kTaken,
  kDuplicateId,  // close the connection
  kNoCredit,     // answer kTooManyCommands, grant nothing
  kNotReady,     // answer kStatus and refused_grant()
  kLater,        // stop reading; ask again in the next turn (after a wake-up when memory is short)
};

class TargetVirtqueue final : public CompletionSink {
 public:
  struct Config {
    uint16_t queue_size = 0;
    bool is_v5 =
        true;  // answers what is too much or too early; `ref` waits, and serves at any status
    uint64_t max_memory_bytes = 0;
    // What a device lends cannot be sent from where it is: the request gets memory to copy it into.
    bool copies_results = false;
    BufferPool* pool = nullptr;  // outlives the queue
    InstanceState state;
    std::function<void()> wake;  // memory may be there
  };

  TargetVirtqueue(Config config, std::unique_ptr<DeviceQueue> device)
      : config_(std::move(config)),
        use_credits_((config_.state.transport_features & transport_feature::kCredit) != 0),
        device_(std::move(device)),
        traits_(device_->traits()),
        credits_(config_.queue_size),
        table_(config_.queue_size),
        reservation_(config_.pool, [this] {
          if (config_.wake) config_.wake();
        }) {
    SetState(config_.state);
  }

  // --- Taking commands ---
  // `payload_in_place`: all readable bytes are in the receive buffer now. On kTaken `request` is
  // set up but for the readable bytes: they go to request->out_place, or stay where they are when
  // that is null.
  Admission Admit(const RequestShape& shape, bool payload_in_place, TargetRequest** request) {
    if (ids_[shape.command_id]) return Admission::kDuplicateId;
    // What was answered and is not released is nothing the peer could know of: it may ask again as
    // soon as it has the answer, before the fabric says here that the answer has left.
    if (unanswered_ == config_.queue_size && config_.is_v5) return Admission::kNoCredit;
    if (use_credits_ && !credits_.available()) return Admission::kNoCredit;
    if (!ready()) return RefuseNotReady();
    if (table_.exhausted()) return Admission::kLater;
    if (!active_ && device_in_flight_ > 0) return Admission::kLater;  // new features: see SetState
    const RequestParts parts = PartsOf(shape, payload_in_place);
    const RequestLayout layout = PlaceRequest(parts, traits_.readable_header_bytes);
    if (layout.first_bytes + layout.second_bytes > 0 && !Reserve(layout)) return Admission::kLater;
    if (use_credits_) credits_.OnCommand();
    *request = SetUp(shape, parts, layout, reservation_.Take(0), reservation_.Take(1));
    return Admission::kTaken;
  }
  // What to grant with a kNotReady answer.
  uint16_t refused_grant() const { return refused_grant_; }

  // The readable bytes are at `payload` (request->out_place, or in the receive buffer until Flush
  // returns).
  void Submit(TargetRequest* request, const std::byte* payload) {
    request->readable_piece = ConstBuffer(payload, request->readable_bytes);
    if (request->readable_bytes > 0) request->readable = {&request->readable_piece, 1};
    if (!ready()) {  // a reset came while the payload did
      request->cause = Cause::kStatus;
      completed_.PushBack(request);
      return;
    }
    batch_[batch_size_++] = request;
    if (batch_size_ == batch_.size()) Flush();
  }
  // Hands the batch to the device.
  void Flush() {
    if (batch_size_ == 0) return;
    if (!active_ && device_in_flight_ == 0) Activate();
    device_in_flight_ += batch_size_;
    device_->Submit({batch_.data(), std::exchange(batch_size_, 0)});
  }

  // --- Completions ---
  bool Poll() { return device_in_flight_ > 0 && device_->Poll() > 0; }
  TargetRequest* first_completed() const { return completed_.front(); }
  void PopCompleted() { completed_.PopFront(); }
  // The answer of `request` is in the output: its id is free. Returns the credits that it hands
  // back.
  uint16_t OnAnswered(const TargetRequest& request) {
    ids_[request.command_id] = false;
    --unanswered_;
    return use_credits_ ? credits_.OnCompletion(memory_is_short()) : 0;
  }
  void Release(TargetRequest* request) {
    memory_in_use_bytes_ -= request->memory_bytes;
    table_.Release(request);
  }
  // For answers that refer to the request's memory: released when `mark` bytes were sent.
  void KeepUntilSent(TargetRequest* request, uint64_t mark) {
    request->sent_mark = mark;
    sent_.PushBack(request);
  }
  void ReleaseSent(uint64_t sent_bytes) {
    while (!sent_.empty() && sent_.front()->sent_mark <= sent_bytes) Release(sent_.PopFront());
  }
  // Credits to send by an event now; 0: none.
  uint16_t IdleGrant() {
    return use_credits_ && table_.in_use() == 0 ? credits_.IdleGrant(memory_is_short()) : 0;
  }

  // --- State ---
  void SetState(const InstanceState& state) {
    config_.state = state;
    if (!driver_ok()) return;
    // `ref` serves requests before the features are settled: those were not activated with them.
    if (activated_features_ != state.driver_features) active_ = false;
    if (!active_ && device_in_flight_ == 0) Activate();
  }
  // The device is asked to finish early; it is activated anew afterwards.
  void BeginReset(const InstanceState& state) {
    CancelReservation();
    active_ = false;
    config_.state = state;
    if (device_in_flight_ > 0) device_->CancelAll();
  }
  // Of requests that are admitted from now on.
  void set_copies_results(bool copies_results) { config_.copies_results = copies_results; }
  // Leaves the line for memory: no command is taken for now, and whoever waits behind must not wait
  // for this queue.
  void CancelReservation() { reservation_.Cancel(); }
  // The connection is closed: nothing is answered or waited for any more.
  void Abandon() {
    CancelReservation();
    if (device_in_flight_ > 0) device_->CancelAll();
    while (!sent_.empty()) Release(sent_.PopFront());
    DropCompleted();
  }
  // Before its engine is destroyed. A device that still had requests would write into memory that
  // is gone, so there is nothing to go on with.
  void End() {
    Abandon();
    constexpr int kPolls = 1000;
    for (int i = 0; i < kPolls && device_in_flight_ > 0; ++i) Poll();
    Check(device_in_flight_ == 0, "an engine ends after its device requests have completed");
    DropCompleted();
  }
  void DropCompleted() {
    while (!completed_.empty()) Release(completed_.PopFront());
  }

  uint32_t device_in_flight() const { return device_in_flight_; }
  // Nothing in flight and nothing left to answer.
  bool idle() const { return device_in_flight_ == 0 && completed_.empty() && batch_size_ == 0; }
  int wait_fd() const { return device_->wait_fd(); }
  uint16_t queue_size() const { return config_.queue_size; }
  uint32_t credit_window() const { return credits_.window(); }
  uint64_t memory_in_use_bytes() const { return memory_in_use_bytes_; }
  // What is demanded of a peer that owes bytes.
  StallRule stall_rule() const {
    if (!memory_is_short()) return {};
    return ContendedStallRule(memory_in_use_bytes_, config_.pool->waiting_bytes(),
                              config_.pool->limit_bytes());
  }
  const QueueCounters& counters() const { return counters_; }

  // --- CompletionSink: only notes, never re-enters the device ---
  void OnComplete(DeviceRequest* completed) override {
    auto* request = static_cast<TargetRequest*>(completed);
    --device_in_flight_;
    // A device that returns more than there is room for, or other bytes than it says, is not
    // believed.
    const bool sane = request->used_length() <= request->writable_bytes &&
                      (!traits_.lends_results || request->result_bytes() == request->used_length());
    ++counters_.requests;
    counters_.out_bytes += request->readable_bytes;
    if (request->failed() || !sane) [[unlikely]] {
      request->cause = Cause::kInLength;
      ++counters_.failed;
    } else {
      counters_.in_bytes += request->used_length();
    }
    completed_.PushBack(request);
  }

 private:
  static constexpr size_t kBatch = 64;

  bool driver_ok() const { return (config_.state.status & virtio_status::kDriverOk) != 0; }
  bool ready() const { return driver_ok() || !config_.is_v5; }
  bool memory_is_short() const { return config_.pool->has_waiters(); }
  void Activate() {
    active_ = true;
    activated_features_ = config_.state.driver_features;
    device_->Activate(activated_features_);
  }

  Admission RefuseNotReady() {
    refused_grant_ = 0;
    if (use_credits_) {
      credits_.OnCommand();
      refused_grant_ = credits_.OnCompletion(memory_is_short());
    }
    return Admission::kNotReady;
  }

  RequestParts PartsOf(const RequestShape& shape, bool payload_in_place) const {
    RequestParts parts;
    if (!traits_.completes_inline || !payload_in_place) parts.out_bytes = shape.out_bytes;
    if (!traits_.lends_results || config_.copies_results) parts.in_bytes = shape.in_bytes;
    parts.segment_bytes = shape.message_bytes;
    if (shape.segments.size() > TargetRequest::kInlineSegmentBytes) {
      parts.segment_bytes = static_cast<uint32_t>(shape.segments.size());
    }
    return parts;
  }

  // A request whose two directions need a buffer each waits for both of them at once.
  bool Reserve(const RequestLayout& layout) {
    const uint64_t bytes = uint64_t{layout.first_bytes} + layout.second_bytes;
    // A session at its limit waits for its own requests. With none there is always room for one.
    if (memory_in_use_bytes_ > 0 && memory_in_use_bytes_ + bytes > config_.max_memory_bytes) {
      return false;
    }
    return reservation_.Reserve({layout.first_bytes, layout.second_bytes, 0});
  }

  TargetRequest* SetUp(const RequestShape& shape, const RequestParts& parts,
                       const RequestLayout& layout, PoolBuffer first, PoolBuffer second) {
    TargetRequest* request = table_.Acquire();
    request->Reset(this);
    request->cause = Cause::kOk;
    request->command_id = shape.command_id;
    request->num_segments = shape.num_segments;
    request->readable_bytes = shape.out_bytes;
    request->writable_bytes = shape.in_bytes;
    request->memory_bytes = layout.first_bytes + layout.second_bytes;
    request->out_place = parts.out_bytes > 0 ? first.data() + layout.out_offset : nullptr;
    if (parts.in_bytes > 0) {
      std::byte* base = layout.second_bytes > 0 ? second.data() : first.data();
      request->writable_piece = MutableBuffer(base + layout.in_offset, parts.in_bytes);
      if (!traits_.lends_results) request->writable = {&request->writable_piece, 1};
    }
    request->message_place =
        shape.message_bytes > 0 ? first.data() + layout.segment_offset : nullptr;
    if (!shape.segments.empty()) {
      std::byte* place = parts.segment_bytes > 0 ? first.data() + layout.segment_offset
                                                 : request->inline_segments.data();
      std::memcpy(place, shape.segments.data(), shape.segments.size());
      request->segments = place;
    }
    request->memory = std::move(first);
    request->second_memory = std::move(second);
    memory_in_use_bytes_ += request->memory_bytes;
    ids_[shape.command_id] = true;
    ++unanswered_;
    return request;
  }

  Config config_;
  const bool use_credits_;
  const std::unique_ptr<DeviceQueue> device_;
  const QueueTraits traits_;
  TargetCredits credits_;
  RequestTable table_;
  PoolReservation reservation_;  // for the next request
  RequestList completed_;        // by the device; not in the output yet
  RequestList sent_;             // in the output; their memory is still referred to
  std::array<DeviceRequest*, kBatch> batch_;
  size_t batch_size_ = 0;
  uint32_t device_in_flight_ = 0;
  uint32_t unanswered_ = 0;  // of table_
  QueueCounters counters_;
  uint64_t memory_in_use_bytes_ = 0;
  uint16_t refused_grant_ = 0;
  uint64_t activated_features_ = 0;
  bool active_ = false;
  std::bitset<65536> ids_;  // in flight
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_TARGET_VIRTQUEUE_H_
