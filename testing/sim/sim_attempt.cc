// SPDX-License-Identifier: Apache-2.0
#include "testing/sim/sim_attempt.h"

#include <algorithm>
#include <utility>

#include "core/engine/initiator_status.h"
#include "devices/blk/blk_wire.h"

namespace vof {
namespace {

constexpr size_t kKeptRequests = 16;
constexpr ConfigField kCapacityField{.offset = 0, .bytes = 8};
constexpr ConfigField kWritebackField{.offset = offsetof(BlkConfigSpace, writeback), .bytes = 1};

}  // namespace

SimAttempt::SimAttempt(const Parts& parts, const SessionPlan& plan, ConnectBody body, int number,
                       bool strict, Hooks hooks)
    : parts_(parts),
      plan_(plan),
      body_(std::move(body)),
      number_(number),
      strict_(strict),
      hooks_(std::move(hooks)) {}

// After a run that failed there may be some.
SimAttempt::~SimAttempt() {
  for (const auto& [request, owned] : requests_) Withdraw(request);
}

void SimAttempt::Note(const std::string& what) const {
  parts_.context->Note(body_.initiator_name + " life " + std::to_string(number_) + ": " + what);
}

void SimAttempt::OnQueueConnected() {
  const bool all = queues_.size() == info_.queue_sizes.size() &&
                   std::all_of(queues_.begin(), queues_.end(),
                               [](const auto& queue) { return queue->connected; });
  if (!all || control_ == nullptr) return;
  session()->VirtqueuesOpened();
  control_->Notify();
}

void SimAttempt::OnQueueDrained() {
  const bool all = std::all_of(queues_.begin(), queues_.end(),
                               [](const auto& queue) { return queue->drained || queue->ended; });
  if (all) Disconnect();
}

// --- Ends ---

void SimAttempt::JudgeEnd(const std::string& what, const absl::Status& why) {
  Note(what + " ended: " + std::string(why.message()));
  const FailureKind kind = FailureKindOf(why);
  if (kind == FailureKind::kProtocol || kind == FailureKind::kUnsupported) {
    parts_.context->Fail(what + ": " + why.ToString());
  }
  if (!strict_ || expected_end_) return;
  // Somebody else may have the disk.
  const Cause cause = FailureCauseOf(why);
  const bool has_to_wait = !ready_ && (cause == Cause::kExclusiveUse || cause == Cause::kLimit);
  if (!has_to_wait) parts_.context->Fail(what + " ended without a fault: " + why.ToString());
}

void SimAttempt::OnQueueEnded(Queue* queue, const absl::Status& why) {
  queue->ended = true;
  // The queue goes on to exist: what is submitted to it from now on is cancelled.
  // Its hook must not own it: it would never go.
  queue->queue->set_wake([parts = parts_, weak = std::weak_ptr(queue->queue)] {
    parts.reactor->Post([parts, q = weak.lock()] {
      q->Admit(parts.context->now);
      q->DeliverDone();
    });
  });
  if (!ending_) JudgeEnd("a virtqueue", why);
  const bool all_ended =
      std::all_of(queues_.begin(), queues_.end(), [](const auto& each) { return each->ended; });
  if (session() == nullptr) return;
  if (expected_end_ && !all_ended) return;
  if (ending_) return;
  if (expected_end_ || parts_.context->random.Chance(500)) {
    Disconnect();
  } else {
    ending_ = true;
    session()->Fail(ClosedStatus());
    control_->Notify();
  }
}

void SimAttempt::OnEnded(const absl::Status& why) {
  if (!ending_) JudgeEnd("the session", why);
  ending_ = true;
  expected_end_ = true;
  CloseQueues();
}

void SimAttempt::CloseQueues() {
  for (const auto& queue : queues_) {
    if (queue->connection == nullptr) continue;
    queue->connection->Close(CloseReason::kLocal, parts_.context->now);
    parts_.reactor->Wake(queue->connection);
  }
}

void SimAttempt::CheckGone() const {
  if (operations_ != 0) {
    parts_.context->Fail(std::to_string(operations_) + " operations were not answered");
  }
  if (!requests_.empty()) {
    parts_.context->Fail(std::to_string(requests_.size()) + " requests were not answered");
  }
  for (const auto& queue : queues_) {
    if (queue->queue->outstanding() != 0) parts_.context->Fail("requests are outstanding");
  }
}

void SimAttempt::Drain() {
  Note("drains");
  expected_end_ = true;
  for (const auto& queue : queues_) {
    if (queue->connection != nullptr) queue->drain();
  }
}

void SimAttempt::Disconnect() {
  if (session() == nullptr || ending_) return;
  Note("disconnects");
  ending_ = expected_end_ = true;
  if (++resets_in_progress_ == 1) ++reset_marks_;  // in `ref` it is one
  session()->Disconnect();
  control_->Notify();
}

void SimAttempt::EndNow() {
  ending_ = expected_end_ = true;
  CloseQueues();
  if (control_connection_ == nullptr) return;
  control_connection_->Close(CloseReason::kLocal, parts_.context->now);
  parts_.reactor->Wake(control_connection_);
}

void SimAttempt::CloseOne() {
  const size_t choice = parts_.context->random.Below(queues_.size() + 1);
  Connection* connection =
      choice < queues_.size() ? queues_[choice]->connection : control_connection_;
  if (connection == nullptr) return;
  Note("closes one of its connections");
  connection->Close(CloseReason::kLocal, parts_.context->now);
  parts_.reactor->Wake(connection);
}

void SimAttempt::BreakOne() {
  Note("one of its connections breaks");
  wires_[parts_.context->random.Below(wires_.size())]->Break();
}

void SimAttempt::Blackhole() {
  Note("vanishes from the network");
  for (const auto& wire : wires_) {
    wire->Blackhole();
    parts_.context->blackholes.push_back(wire);
  }
  EndNow();
}

// --- Operations ---

std::function<void(const absl::Status&)> SimAttempt::Operation(const std::string& what) {
  ++operations_;
  auto answered = std::make_shared<bool>(false);
  return [this, what, answered, slept = parts_.context->slept](const absl::Status& status) {
    if (std::exchange(*answered, true)) parts_.context->Fail(what + " was answered twice");
    --operations_;
    CheckSlept(what, slept);
    if (!status.ok()) Note(what + ": " + std::string(status.message()));
    if (FailureKindOf(status) == FailureKind::kProtocol) {
      parts_.context->Fail(what + ": " + status.ToString());
    }
    if (!status.ok() && strict_ && !ending_ && !expected_end_) {
      parts_.context->Fail(what + " failed without a fault: " + status.ToString());
    }
  };
}

void SimAttempt::CheckSlept(const std::string& what, Nanoseconds slept_before) const {
  if (!strict_ || parts_.context->slept - slept_before <= SimContext::kLongestSleep) return;
  parts_.context->Fail(what + " waited while everybody slept");
}

void SimAttempt::Reset() {
  if (session() == nullptr) return;
  Note("resets the device");
  if (++resets_in_progress_ == 1) ++reset_marks_;
  session()->Reset([this, done = Operation("reset")](const absl::Status& status) {
    if (--resets_in_progress_ == 0) ++reset_marks_;
    done(status);
    if (status.ok()) ReadCapacity();  // nobody tells a device that is reset of changes
  });
  control_->Notify();
}

void SimAttempt::Ping() {
  if (session() == nullptr) return;
  session()->Ping([done = Operation("ping")](const absl::StatusOr<Nanoseconds>& answer) {
    done(answer.status());
  });
  control_->Notify();
}

void SimAttempt::ReadCapacity() {
  if (session() == nullptr) return;
  session()->ReadConfig({kCapacityField}, [this, done = Operation("a read of the capacity")](
                                              const absl::StatusOr<ConfigSnapshot>& snapshot) {
    done(snapshot.status());
    if (snapshot.ok()) capacity_seen_ = snapshot->values[0];
  });
  control_->Notify();
}

void SimAttempt::WriteCache(bool on) {
  if (session() == nullptr || (info_.features & kBlkFeatureConfigWce) == 0) return;
  session()->WriteConfig(kWritebackField, on ? 1 : 0, Operation("a write of the cache mode"));
  control_->Notify();
}

// --- Requests ---

uint64_t SimAttempt::outstanding() const {
  uint64_t total = 0;
  for (const auto& queue : queues_) total += queue->queue->outstanding();
  return total;
}

SimRequestLimits SimAttempt::Limits() const {
  SimRequestLimits limits;
  limits.max_out_bytes = info_.max_out_bytes;
  limits.max_in_bytes = info_.max_in_bytes;
  limits.flush = (info_.features & kBlkFeatureFlush) != 0;
  limits.discard = (info_.features & kBlkFeatureDiscard) != 0;
  limits.write_zeroes = (info_.features & kBlkFeatureWriteZeroes) != 0;
  if (plan_.dialect == Dialect::kRef) limits.reset_marks = &reset_marks_;
  limits.attempt_may_end = !strict_ || ending_ || expected_end_;
  if (!parts_.context->calm) limits.timeout = plan_.io_timeout;
  return limits;
}

void SimAttempt::Submit(size_t queue, std::unique_ptr<SimRequest> request) {
  SimRequest* submitted = request.get();
  submitted->on_done = [this](SimRequest* done) { OnRequestDone(done); };
  requests_[submitted] = std::move(request);
  if (is_keyed()) Expose(submitted);
  queues_[queue]->queue->Submit(&submitted->request());
}

void SimAttempt::Expose(SimRequest* request) {
  const auto draw = [this] {
    return plan_.exposure == SimExposure::kEachRequest ||
           (plan_.exposure == SimExposure::kSome && parts_.context->fabric_random.Chance(500));
  };
  if (draw()) parts_.memory->Expose(request->readable_memory(), Access::kRemoteRead);
  if (draw()) parts_.memory->Expose(request->writable_memory(), Access::kRemoteWrite);
}

void SimAttempt::Withdraw(SimRequest* request) {
  parts_.memory->Withdraw(request->readable_memory());
  parts_.memory->Withdraw(request->writable_memory());
}

// Some requests go at once, so that a sanitizer sees who uses them later; others are kept and
// looked at again, so that it is seen without one.
void SimAttempt::OnRequestDone(SimRequest* request) {
  if (is_keyed()) Withdraw(request);  // no key outlives it
  if (request->unsettled_write() != nullptr) hooks_.on_unsettled(request->unsettled_write());
  const auto it = requests_.find(request);
  std::unique_ptr<SimRequest> owned = std::move(it->second);
  requests_.erase(it);
  if (parts_.context->random.Chance(500)) return;
  finished_requests_.push_back(std::move(owned));
  if (finished_requests_.size() > kKeptRequests) {
    finished_requests_.erase(finished_requests_.begin());
  }
}

}  // namespace vof
