// SPDX-License-Identifier: Apache-2.0
//
// One life of an initiator session: a control queue, its virtqueues, and the requests on them.
//
//   SimAttempt attempt(world, plan, body, number, hooks);
//   attempt.Start();
//   if (attempt.ready()) attempt.Submit(/*queue=*/0, std::move(request));
//   attempt.EndNow(); ... attempt.gone()                // nothing is left of it
//
// Checks on the way that every operation and every request is answered once.
#ifndef VOF_TESTING_SIM_SIM_ATTEMPT_H_
#define VOF_TESTING_SIM_SIM_ATTEMPT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/engine/initiator_control.h"
#include "core/engine/initiator_queue.h"
#include "core/engine/initiator_virtqueue_keyed.h"
#include "core/engine/message_engine.h"
#include "core/engine/stream_engine.h"
#include "testing/sim/queue_rules.h"
#include "testing/sim/sim_context.h"
#include "testing/sim/sim_fabric.h"
#include "testing/sim/sim_memory.h"
#include "testing/sim/sim_reactor.h"
#include "testing/sim/sim_request.h"
#include "testing/sim/sim_target.h"
#include "testing/sim/sim_wire.h"

namespace vof {

class SimAttempt {
 public:
  struct Parts {
    SimContext* context = nullptr;
    SimTarget* target = nullptr;
    SimReactor* reactor = nullptr;
    SimFabric* fabric = nullptr;
    SimMemory* memory = nullptr;  // of the reactor
  };
  struct Hooks {
    std::function<void()> on_connected;  // the target has answered: older lives are over
    std::function<void()> on_ready;
    std::function<void(const DiskModel::WriteHandle&)> on_unsettled;
  };

  // `strict`: nothing is expected to go wrong with it.
  SimAttempt(const Parts& parts, const SessionPlan& plan, ConnectBody body, int number, bool strict,
             Hooks hooks);
  SimAttempt(const SimAttempt&) = delete;
  SimAttempt& operator=(const SimAttempt&) = delete;
  ~SimAttempt();

  void Start();
  int number() const { return number_; }
  bool strict() const { return strict_; }
  bool ready() const { return ready_ && !ending_; }
  bool ending() const { return ending_; }
  bool gone() const { return num_connections_ == 0 && outstanding() == 0; }
  void CheckGone() const;
  const SessionInfo& info() const { return info_; }
  uint64_t capacity_seen() const { return capacity_seen_; }

  // --- Requests ---
  size_t num_queues() const { return queues_.size(); }
  uint64_t outstanding(size_t queue) const { return queues_[queue]->queue->outstanding(); }
  uint64_t outstanding() const;
  SimRequestLimits Limits() const;
  void Submit(size_t queue, std::unique_ptr<SimRequest> request);

  // --- Operations ---
  void Reset();
  void Ping();
  void ReadCapacity();
  void WriteCache(bool on);

  // --- Endings ---
  void Drain();       // every virtqueue finishes, then the session disconnects
  void Disconnect();  // with requests in flight
  void EndNow();      // closes every connection
  void CloseOne();    // closes one, the others notice
  void BreakOne();
  void Blackhole();  // the target never learns of the end

 private:
  struct Queue {
    std::shared_ptr<InitiatorQueue> queue;
    Connection* connection = nullptr;  // null: gone
    std::function<void()> drain;
    bool connected = false;
    bool drained = false;
    bool ended = false;
  };

  // --- Connecting (sim_attempt_connect.cc) ---
  InitiatorSessionOptions SessionOptions();
  bool is_keyed() const { return plan_.transmission == Transmission::kKeyed; }
  SimPeer PeerKind() const { return strict_ ? SimPeer::kStrict : SimPeer::kHonest; }
  template <Codec C>
  void StartControl();
  InitiatorKeyedOptions KeyedOptions(const KeyedLimits& limits) const;
  QueueRules::Fail OnBrokenRule();
  Connection* AddStream(std::unique_ptr<StreamEngine> engine, std::function<void()> on_finished);
  Connection* AddMessages(std::unique_ptr<MessageEngine> engine, std::function<void()> on_finished);
  Connection* Add(std::unique_ptr<Connection> connection, std::shared_ptr<SimWire> wire,
                  std::function<void()> on_finished);
  void OpenVirtqueues();
  void OpenVirtqueue(uint16_t index);
  template <Codec C>
  Connection* AddQueueEngine(InitiatorVirtqueueOptions options, Queue* queue);
  // --- Living ---
  void OnQueueConnected();
  void OnQueueDrained();
  void OnQueueEnded(Queue* queue, const absl::Status& why);
  void OnEnded(const absl::Status& why);
  void Expose(SimRequest* request);
  void Withdraw(SimRequest* request);
  void OnRequestDone(SimRequest* request);
  void CheckSlept(const std::string& what, Nanoseconds slept_before) const;
  void JudgeEnd(const std::string& what, const absl::Status& why);
  void CloseQueues();
  InitiatorSession* session() { return control_ ? &control_->session() : nullptr; }
  std::function<void(const absl::Status&)> Operation(const std::string& what);
  void Note(const std::string& what) const;

  const Parts parts_;
  const SessionPlan plan_;
  const ConnectBody body_;
  const int number_;
  const bool strict_;
  const Hooks hooks_;
  const std::shared_ptr<WireSession> wire_ = std::make_shared<WireSession>();

  InitiatorControl* control_ = nullptr;  // null: gone
  Connection* control_connection_ = nullptr;
  std::vector<std::unique_ptr<Queue>> queues_;
  std::vector<std::shared_ptr<SimWire>> wires_;
  std::map<SimRequest*, std::unique_ptr<SimRequest>> requests_;
  std::vector<std::unique_ptr<SimRequest>> finished_requests_;
  SessionInfo info_;
  uint64_t capacity_seen_ = 0;
  int num_connections_ = 0;
  Nanoseconds slept_at_start_ = 0;
  uint64_t reset_marks_ = 0;  // one more when a reset begins, and when it is answered
  int resets_in_progress_ = 0;
  int operations_ = 0;  // without an answer yet
  bool ready_ = false;
  bool ending_ = false;
  bool expected_end_ = false;  // we asked for it
};

}  // namespace vof

#endif  // VOF_TESTING_SIM_SIM_ATTEMPT_H_
