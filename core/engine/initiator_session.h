// SPDX-License-Identifier: Apache-2.0
//
// The control queue of an initiator without its bytes: bring-up, configuration, reset, keepalive,
// events, orderly end, and the time-outs of all of them.
//
//   InitiatorSession session(options);
//   while (session.NextCommand(now, &command)) Send(command);
//   CommandKind kind = session.KindOf(id);                 // kUnknown: the target made that up
//   WireError error = session.OnCompletion(completion, now);
//   session.RunCallbacks();                                // never inside another call
//
// One command is in flight at a time, and one keepalive beside it. Operations wait for their turn;
// each callback is called once, in RunCallbacks. One thread.
#ifndef VOF_CORE_ENGINE_INITIATOR_SESSION_H_
#define VOF_CORE_ENGINE_INITIATOR_SESSION_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/base/time.h"
#include "core/engine/initiator_config_script.h"
#include "core/engine/initiator_handshake.h"
#include "core/engine/initiator_script.h"
#include "core/engine/stream_engine.h"
#include "core/wire/codec.h"
#include "core/wire/command.h"

namespace vof {

struct InitiatorSessionOptions {
  InitiatorHandshakeOptions handshake;
  // What the user has given for all of it, of which `connect_timeout` is left; for texts. 0: the
  // same.
  Nanoseconds whole_connect_timeout = 0;
  Nanoseconds connect_timeout =
      kHandshakeTimeout;  // from the first command until ready, all in all
  // Of one operation (all that reading the configuration asks for, say) once the session is ready;
  // more than the target's kResetTimeout. Before that only connect_timeout counts.
  Nanoseconds command_timeout = 5 * kNanosecondsPerSecond;
  Nanoseconds keepalive = 0;  // `v5`: between two keepalives, and until the answer; 0: none
  Nanoseconds disconnect_timeout = kNanosecondsPerSecond;

  // Each may be empty. The first two are called once; VirtqueuesOpened() answers the first.
  std::function<void(const SessionInfo&)> on_open_virtqueues;
  std::function<void(const SessionInfo&)> on_ready;
  // The device changed its configuration. Nothing more is told until somebody reads it.
  std::function<void()> on_config_changed;
  // The connection is closed. kCancelled: this side wanted it.
  std::function<void(const absl::Status& why)> on_ended;
};

class InitiatorSession {
 public:
  using DoneCallback = std::function<void(const absl::Status&)>;

  explicit InitiatorSession(InitiatorSessionOptions options);

  // --- Operations ---
  void VirtqueuesOpened() { handshake_.VirtqueuesOpened(); }
  void ReadConfig(std::vector<ConfigField> fields, ConfigReadScript::Callback done);
  void WriteConfig(ConfigField field, uint64_t value, DoneCallback done);
  // Resets the device and brings it up again; requests in flight end, those sent meanwhile are
  // refused.
  void Reset(DoneCallback done);
  // The time from sending a command that does nothing to its answer.
  void Ping(std::function<void(absl::StatusOr<Nanoseconds>)> done);
  // Ends in good order: at once while not ready, else when the target has answered.
  void Disconnect();
  // Ends now; `why` is what on_ended tells.
  void Fail(absl::Status why);

  // --- For the framing ---
  // The next command to send; false: none now. Starts its time-out.
  bool NextCommand(MonotonicTime now, Command* command);
  // What a completion with this id answers; kUnknown when nothing like that is in flight.
  CommandKind KindOf(uint16_t command_id) const;
  WireError OnCompletion(const Completion& completion, MonotonicTime now);
  WireError OnConfigChanged();
  // Calls back what is due. Returns whether anything was.
  bool RunCallbacks();
  bool has_callbacks() const;
  // NextCommand() would return true now, without time passing.
  bool has_command() const;

  MonotonicTime NextDeadline() const;
  void OnTimer(MonotonicTime now);

  bool wants_close() const { return wants_close_; }
  void OnClosed(CloseReason reason, int error);
  bool finished() const { return reported_; }
  const absl::Status& status() const { return status_; }
  const SessionInfo& info() const { return handshake_.info(); }
  bool ready() const { return ready_; }
  // Connect was answered in a way that only a target would: with what it refuses, too.
  bool met_a_target() const { return met_a_target_; }

 private:
  struct Finished {
    std::unique_ptr<InitiatorScript> script;
    absl::Status status;
  };

  bool native() const { return info().dialect == Dialect::kV5; }
  void Enqueue(std::unique_ptr<InitiatorScript> script);
  void FinishFront(const absl::Status& status);
  void OnHandshakeDone(const absl::Status& status);
  uint16_t NewId();
  Command KeepaliveCommand() const;

  const InitiatorSessionOptions options_;
  const uint32_t keepalive_ms_;
  InitiatorHandshake handshake_;
  std::deque<std::unique_ptr<InitiatorScript>> scripts_;  // the front one talks
  std::vector<Finished> finished_;                        // to be called back

  Command in_flight_;
  bool waiting_ = false;  // for the answer to `in_flight_`
  uint16_t keepalive_id_ = 0;
  bool keepalive_waiting_ = false;
  bool keepalive_stated_ = false;
  uint16_t next_id_ = 0;

  MonotonicTime sent_at_ = 0;
  Nanoseconds round_trip_ = 0;
  MonotonicTime connect_deadline_ = kInfiniteFuture;
  MonotonicTime command_deadline_ = kInfiniteFuture;
  MonotonicTime keepalive_at_ = kInfiniteFuture;        // when the next one goes
  MonotonicTime keepalive_deadline_ = kInfiniteFuture;  // when its answer is late
  MonotonicTime disconnect_deadline_ = kInfiniteFuture;

  absl::Status status_;
  bool started_ = false;
  bool met_a_target_ = false;
  bool asked_for_virtqueues_ = false;
  bool ready_ = false;
  bool config_changed_ = false;
  bool disconnecting_ = false;
  bool wants_close_ = false;
  bool closed_ = false;
  bool reported_ = false;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_INITIATOR_SESSION_H_
