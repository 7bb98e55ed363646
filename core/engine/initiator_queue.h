// SPDX-License-Identifier: Apache-2.0
//
// The requests of one virtqueue at the initiator, from Submit to `done`: who waits, who is in
// flight under which command id, who is late, who may go next. No framing: that is
// initiator_virtqueue_stream.h.
//
//   queue.Submit(&request);                              // the caller's side
//
//   queue.Admit(now);                                    // the framing's side, once per turn
//   while (InitiatorRequest* r = queue.NextToSend()) Encode(queue.Take());
//   if (InitiatorRequest* r = queue.Find(completion.command_id)) queue.Answer(r, ...);
//   queue.DeliverDone();                                 // runs `done` of what is finished
//
// Submit and everything per request is O(1) and allocates nothing. One thread: the queue's reactor.
// Outlives its connection: requests submitted later are cancelled.
#ifndef VOF_CORE_ENGINE_INITIATOR_QUEUE_H_
#define VOF_CORE_ENGINE_INITIATOR_QUEUE_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/base/time.h"
#include "core/engine/credit_window.h"
#include "core/engine/initiator_request.h"
#include "core/engine/initiator_request_list.h"
#include "core/wire/codec.h"

namespace vof {

struct InitiatorQueueOptions {
  uint16_t queue_size = 128;                  // 1..kMaxQueueSize, as agreed with the target
  bool credits = false;                       // CREDIT was accepted
  uint32_t max_out_bytes = kMaxRequestBytes;  // the target's request sizes
  uint32_t max_in_bytes = kMaxRequestBytes;
  uint16_t max_segments = kMaxSegments;  // pieces of one request, empty ones not counted
  Nanoseconds timeout = 0;               // for requests that state none; 0: none
};

class InitiatorQueue {
 public:
  explicit InitiatorQueue(const InitiatorQueueOptions& options)
      : options_(options), credits_(options.queue_size), slots_(options.queue_size) {
    free_ids_.reserve(options.queue_size);
    for (uint32_t id = options.queue_size; id > 0; --id) {
      free_ids_.push_back(static_cast<uint16_t>(id - 1));
    }
  }
  InitiatorQueue(const InitiatorQueue&) = delete;
  InitiatorQueue& operator=(const InitiatorQueue&) = delete;

  // --- For the caller ---
  // The request and its buffers are the queue's until `done`, which always comes, and never inside
  // this call. Requests beyond the window wait without limit; their time-out runs from now on.
  void Submit(InitiatorRequest* request) {
    request->error = RequestError::kNone;
    request->cause = Cause::kOk;
    request->status = 0;
    request->used_length = 0;
    ++outstanding_;
    if (ended_ || draining_) [[unlikely]] {
      FinishUnlisted(request, RequestError::kCancelled);
    } else if (!Measure(request)) [[unlikely]] {
      FinishUnlisted(request, RequestError::kTooLarge);
    } else {
      submitted_.PushBack(request);
    }
    if (!woken_) [[unlikely]] {
      woken_ = true;
      if (wake_) wake_();
    }
  }
  // Submitted, and `done` not called yet.
  uint64_t outstanding() const { return outstanding_; }
  const InitiatorQueueOptions& options() const { return options_; }
  bool ended() const { return ended_; }

  // --- For the framing ---
  // Called by the first Submit since the last Admit, so that somebody comes and sends.
  void set_wake(std::function<void()> wake) { wake_ = std::move(wake); }

  // The connection is accepted by the target: requests may go.
  void Open() { open_ = true; }
  // No more requests; those submitted are still served.
  void Drain() { draining_ = true; }

  // Takes notice of what was submitted since the last turn: `now` is when its time-outs begin.
  void Admit(MonotonicTime now) {
    woken_ = false;
    while (InitiatorRequest* request = submitted_.PopFront()) {
      const Nanoseconds timeout = TimeoutOf(*request);
      request->deadline = timeout != 0 ? DeadlineAfter(now, timeout) : kInfiniteFuture;
      earliest_deadline_ = std::min(earliest_deadline_, request->deadline);
      pending_.PushBack(request);
    }
  }

  // The request that may be sent now, or null.
  InitiatorRequest* NextToSend() const {
    if (!open_ || free_ids_.empty() || (options_.credits && credits_.available() == 0)) {
      return nullptr;
    }
    return pending_.front();
  }
  // Takes NextToSend() and gives it a command id. SetSent must follow.
  InitiatorRequest* Take() {
    InitiatorRequest* request = pending_.PopFront();
    request->command_id = free_ids_.back();
    free_ids_.pop_back();
    if (options_.credits) credits_.OnSend();
    slots_[request->command_id] = {request, 0, false};
    in_flight_.PushBack(request);
    if (IsLargeRead(*request)) ++large_reads_;
    return request;
  }
  // Its last byte leaves as number `sent_mark` of the connection's output: its buffers are in use
  // till then.
  void SetSent(const InitiatorRequest* request, uint64_t sent_mark) {
    slots_[request->command_id].sent_mark = sent_mark;
  }

  // The request in flight under this id that has no answer yet; null when there is none.
  InitiatorRequest* Find(uint16_t command_id) const {
    if (command_id >= slots_.size()) return nullptr;
    const Slot& slot = slots_[command_id];
    return slot.answered ? nullptr : slot.request;
  }
  // Its answer is complete. `consumed_bytes` of the output are sent: a request that the target
  // answered before it had all of it keeps its buffers until the rest is sent.
  WireError Answer(InitiatorRequest* request, const Completion& completion,
                   uint64_t consumed_bytes) {
    if (options_.credits && !credits_.OnCompletion(completion.grant)) return WireError::kGrant;
    request->error = completion.ok() ? RequestError::kNone : RequestError::kRefused;
    request->cause = completion.cause;
    request->status = completion.status;
    request->used_length = completion.used_length;
    Slot& slot = slots_[request->command_id];
    if (slot.sent_mark > consumed_bytes) [[unlikely]] {
      slot.answered = true;
      ++answered_early_;
      return WireError::kNone;
    }
    Retire(request);
    return WireError::kNone;
  }
  // More output was sent: finishes requests that were answered before.
  void OnSent(uint64_t consumed_bytes) {
    if (answered_early_ == 0) [[likely]]
      return;
    for (InitiatorRequest *request = in_flight_.front(), *next; request != nullptr;
         request = next) {
      next = request->next;
      const Slot& slot = slots_[request->command_id];
      if (slot.sent_mark > consumed_bytes) return;  // in the order of sending
      if (!slot.answered) continue;
      --answered_early_;
      Retire(request);
    }
  }
  // A completion that answers nothing: the credit event, or a breach. `ref` has no events.
  WireError OnUnasked(const Completion& completion, Dialect dialect) {
    if (completion.command_id < kFirstReservedCommandId || dialect == Dialect::kRef) {
      return WireError::kUnknownCommandId;
    }
    if (completion.command_id != kEventCredit || !options_.credits) {
      return WireError::kUnexpectedEvent;
    }
    return credits_.OnEvent(completion.grant) ? WireError::kNone : WireError::kGrant;
  }

  // Runs `done` of all that was finished before the call. Returns how many.
  int DeliverDone() {
    InitiatorRequestList batch(std::move(done_));
    int delivered = 0;
    while (InitiatorRequest* request = batch.PopFront()) {
      --outstanding_;
      ++delivered;
      request->done(request);
    }
    return delivered;
  }

  bool has_done() const { return !done_.empty(); }
  // Something for Admit or DeliverDone.
  bool has_work() const { return !done_.empty() || !submitted_.empty(); }
  // Some answer in flight may be worth receiving straight into its buffers.
  bool expects_large_reads() const { return large_reads_ > 0; }

  // --- Time ---
  // Not later than the first deadline (a lower bound: OnTimer finds out).
  MonotonicTime NextDeadline() const { return earliest_deadline_; }
  // Finishes late requests that were never sent. True when one that was sent is late: its
  // connection must be closed, then End called.
  bool Expire(MonotonicTime now) {
    if (now < earliest_deadline_) return false;
    earliest_deadline_ = kInfiniteFuture;
    for (InitiatorRequest *request = pending_.front(), *next; request != nullptr; request = next) {
      next = request->next;
      if (request->deadline > now) {
        earliest_deadline_ = std::min(earliest_deadline_, request->deadline);
        continue;
      }
      pending_.Remove(request);
      FinishUnlisted(request, RequestError::kTimedOut);
    }
    bool late = false;
    for (InitiatorRequest* request = in_flight_.front(); request != nullptr;
         request = request->next) {
      if (request->deadline > now) {
        earliest_deadline_ = std::min(earliest_deadline_, request->deadline);
        continue;
      }
      late = true;
      late_after_ = TimeoutOf(*request);
      if (!slots_[request->command_id].answered) request->error = RequestError::kTimedOut;
    }
    return late;
  }
  // When Expire was true: the time that the late request had.
  Nanoseconds late_after() const { return late_after_; }

  // The connection is closed, nobody touches the buffers any more: finishes everything. Requests in
  // flight end with `error`, those that Expire found late with kTimedOut, those never sent with
  // kCancelled.
  void End(RequestError error) {
    ended_ = true;
    while (InitiatorRequest* request = in_flight_.front()) {
      const bool answered = slots_[request->command_id].answered;
      if (!answered && request->error == RequestError::kNone) request->error = error;
      Retire(request);
    }
    answered_early_ = 0;
    for (InitiatorRequestList* never_sent : {&pending_, &submitted_}) {
      while (InitiatorRequest* request = never_sent->PopFront()) {
        FinishUnlisted(request, RequestError::kCancelled);
      }
    }
    earliest_deadline_ = kInfiniteFuture;
  }

 private:
  struct Slot {
    InitiatorRequest* request = nullptr;
    uint64_t sent_mark = 0;
    bool answered = false;
  };

  Nanoseconds TimeoutOf(const InitiatorRequest& request) const {
    return request.timeout != 0 ? request.timeout : options_.timeout;
  }
  static bool IsLargeRead(const InitiatorRequest& request) {
    return request.writable_bytes > kDirectReceiveBytes;
  }

  // False when the request is empty or beyond a limit.
  bool Measure(InitiatorRequest* request) const {
    uint64_t out_bytes = 0, in_bytes = 0;
    uint32_t segments = 0;
    for (const ConstBuffer& piece : request->readable) {
      out_bytes += piece.size_bytes;
      segments += piece.size_bytes != 0;
    }
    for (const MutableBuffer& piece : request->writable) {
      in_bytes += piece.size_bytes;
      segments += piece.size_bytes != 0;
    }
    if (out_bytes > options_.max_out_bytes || in_bytes > options_.max_in_bytes || segments == 0 ||
        segments > options_.max_segments) {
      return false;
    }
    request->readable_bytes = static_cast<uint32_t>(out_bytes);
    request->writable_bytes = static_cast<uint32_t>(in_bytes);
    return true;
  }

  // From in flight to done; its id is free again.
  void Retire(InitiatorRequest* request) {
    if (IsLargeRead(*request)) --large_reads_;
    slots_[request->command_id] = {};
    free_ids_.push_back(request->command_id);
    in_flight_.Remove(request);
    done_.PushBack(request);
  }
  void FinishUnlisted(InitiatorRequest* request, RequestError error) {
    request->error = error;
    done_.PushBack(request);
  }

  const InitiatorQueueOptions options_;
  InitiatorCredits credits_;
  std::vector<Slot> slots_;         // by command id
  std::vector<uint16_t> free_ids_;  // the last one used goes first: its slot is in cache
  InitiatorRequestList submitted_, pending_, in_flight_, done_;
  std::function<void()> wake_;
  MonotonicTime earliest_deadline_ = kInfiniteFuture;
  Nanoseconds late_after_ = 0;
  uint64_t outstanding_ = 0;
  uint32_t large_reads_ = 0;
  uint32_t answered_early_ = 0;
  bool open_ = false;
  bool draining_ = false;
  bool ended_ = false;
  bool woken_ = false;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_INITIATOR_QUEUE_H_
