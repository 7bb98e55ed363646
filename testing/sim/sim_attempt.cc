// SPDX-License-Identifier: Apache-2.0
#include "testing/sim/sim_attempt.h"

#include <algorithm>
#include <utility>

#include "core/engine/agreed_options.h"
#include "core/engine/initiator_status.h"
#include "core/wire/ref.h"
#include "core/wire/v5.h"
#include "core/wire/with_codec.h"
#include "devices/blk/blk_wire.h"

namespace vof {
namespace {

constexpr size_t kKeptRequests = 16;
constexpr ConfigField kCapacityField{.offset = 0, .bytes = 8};
constexpr ConfigField kWritebackField{.offset = offsetof(BlkConfigSpace, writeback), .bytes = 1};
constexpr ConfigField kNumQueuesField{.offset = offsetof(BlkConfigSpace, num_queues), .bytes = 2};

}  // namespace

SimAttempt::SimAttempt(const Parts& parts, const SessionPlan& plan, ConnectBody body, int number,
                       bool strict, Hooks hooks)
    : parts_(parts),
      plan_(plan),
      body_(std::move(body)),
      number_(number),
      strict_(strict),
      hooks_(std::move(hooks)) {}

void SimAttempt::Note(const std::string& what) const {
  parts_.context->Note(body_.initiator_name + " life " + std::to_string(number_) + ": " + what);
}

// --- Connecting ---

void SimAttempt::Start() {
  Note("connects");
  slept_at_start_ = parts_.context->slept;
  WithCodec(plan_.dialect, [this]<Codec C>() {
    auto engine = std::make_unique<InitiatorControlStream<C>>(body_, SessionOptions());
    control_ = engine.get();
    control_connection_ = AddConnection(std::move(engine), [this] {
      control_ = nullptr;
      control_connection_ = nullptr;
    });
  });
}

InitiatorSessionOptions SimAttempt::SessionOptions() {
  InitiatorSessionOptions options;
  options.handshake.dialect = plan_.dialect;
  options.handshake.queues = plan_.queues;
  options.handshake.queue_size = plan_.queue_size;
  options.handshake.num_queues_field = kNumQueuesField;
  options.handshake.num_queues_feature = kBlkFeatureMultiQueue;
  options.connect_timeout = 5 * kNanosecondsPerSecond;
  options.command_timeout = 4 * kNanosecondsPerSecond;
  options.keepalive = plan_.keepalive;
  options.on_open_virtqueues = [this](const SessionInfo& info) {
    info_ = info;
    hooks_.on_connected();
    OpenVirtqueues();
  };
  options.on_ready = [this](const SessionInfo& info) {
    if (ready_) return;  // again, after a reset
    info_ = info;
    ready_ = true;
    CheckSlept("connecting", slept_at_start_);
    Note("is ready as instance " + std::to_string(info.instance_id));
    ReadCapacity();
    hooks_.on_ready();
  };
  options.on_config_changed = [this] { ReadCapacity(); };
  options.on_ended = [this](const absl::Status& why) { OnEnded(why); };
  return options;
}

std::shared_ptr<PipeObserver> SimAttempt::NewObserver() {
  SimContext* context = parts_.context;
  const std::string who = body_.initiator_name + " life " + std::to_string(number_) + ": ";
  return std::make_shared<WireChecker>(
      wire_, [context, who](const std::string& what) { context->Fail(who + what); });
}

Connection* SimAttempt::AddConnection(std::unique_ptr<StreamEngine> engine,
                                      std::function<void()> on_finished) {
  SimLink link = MakeSimLink(parts_.context, NewObserver(), body_.initiator_name);
  auto connection = std::make_unique<SimConnection>(std::move(link.initiator), std::move(engine));
  Connection* added = connection.get();
  ++num_connections_;
  pipes_.push_back(link.pipe);
  parts_.reactor->Add(std::move(connection), link.pipe, SimPipe::kInitiator,
                      [this, on_finished = std::move(on_finished)](Connection*) {
                        --num_connections_;
                        on_finished();
                      });
  parts_.target->Accept(&link, body_.initiator_name, strict_ ? SimPeer::kStrict : SimPeer::kHonest);
  return added;
}

void SimAttempt::OpenVirtqueues() {
  for (size_t i = 0; i < info_.queue_sizes.size(); ++i) OpenVirtqueue(static_cast<uint16_t>(i));
}

void SimAttempt::OpenVirtqueue(uint16_t index) {
  queues_.push_back(std::make_unique<Queue>());
  Queue* queue = queues_.back().get();
  queue->queue = std::make_shared<InitiatorQueue>(AgreedQueueOptions(info_, index));
  InitiatorVirtqueueOptions options;
  options.instance_id = info_.instance_id;
  options.queue_index = index;
  options.body = body_;
  options.connect_timeout = 3 * kNanosecondsPerSecond;
  options.on_connected = [this, queue] {
    queue->connected = true;
    OnQueueConnected();
  };
  options.on_drained = [this, queue] {
    queue->drained = true;
    OnQueueDrained();
  };
  options.on_ended = [this, queue](const absl::Status& why) { OnQueueEnded(queue, why); };
  auto engine = plan_.dialect == Dialect::kV5 ? MakeQueueEngine<V5>(std::move(options), queue)
                                              : MakeQueueEngine<Ref>(std::move(options), queue);
  queue->connection = AddConnection(std::move(engine), [queue] { queue->connection = nullptr; });
}

template <Codec C>
std::unique_ptr<StreamEngine> SimAttempt::MakeQueueEngine(InitiatorVirtqueueOptions options,
                                                          Queue* queue) {
  auto engine = std::make_unique<InitiatorVirtqueueStream<C>>(std::move(options), queue->queue);
  queue->drain = [e = engine.get()] { e->Drain(); };
  return engine;
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
  pipes_[parts_.context->random.Below(pipes_.size())]->Break();
}

void SimAttempt::Blackhole() {
  Note("vanishes from the network");
  for (const auto& pipe : pipes_) {
    pipe->Blackhole();
    parts_.context->blackholes.push_back(pipe);
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
  queues_[queue]->queue->Submit(&submitted->request());
}

// Some requests go at once, so that a sanitizer sees who uses them later; others are kept and
// looked at again, so that it is seen without one.
void SimAttempt::OnRequestDone(SimRequest* request) {
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
