// SPDX-License-Identifier: Apache-2.0
#include "core/engine/initiator_session.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/engine/initiator_session_scripts.h"
#include "core/engine/initiator_status.h"

namespace vof {
namespace {

uint32_t KeepaliveMs(const InitiatorSessionOptions& options) {
  if (options.handshake.dialect != Dialect::kV5 || options.keepalive <= 0) return 0;
  const Nanoseconds ms = options.keepalive / kNanosecondsPerMillisecond;
  return static_cast<uint32_t>(
      std::clamp<Nanoseconds>(ms, Nanoseconds{kMinKeepaliveMs}, Nanoseconds{kMaxKeepaliveMs}));
}

std::string NameOf(const Command& command) { return std::string(CommandKindName(command.kind)); }

}  // namespace

InitiatorSession::InitiatorSession(InitiatorSessionOptions options)
    : options_(std::move(options)),
      keepalive_ms_(KeepaliveMs(options_)),
      handshake_(options_.handshake) {
  Enqueue(std::make_unique<HandshakeScript>(
      &handshake_, /*restart=*/false,
      [this](const absl::Status& status) { OnHandshakeDone(status); }));
}

// --- Operations ---

void InitiatorSession::Enqueue(std::unique_ptr<InitiatorScript> script) {
  if (wants_close_ || disconnecting_) {
    finished_.push_back({std::move(script), wants_close_ ? status_ : ClosedStatus()});
    return;
  }
  scripts_.push_back(std::move(script));
}

void InitiatorSession::ReadConfig(std::vector<ConfigField> fields,
                                  ConfigReadScript::Callback done) {
  Enqueue(std::make_unique<ConfigReadScript>(info().dialect, std::move(fields), std::move(done)));
}

void InitiatorSession::WriteConfig(ConfigField field, uint64_t value, DoneCallback done) {
  Command command;
  command.kind = CommandKind::kSetConfig;
  command.offset = field.offset;
  command.bytes = field.bytes;
  command.value = LowBytes(value, field.bytes);
  Enqueue(std::make_unique<OneCommandScript>(
      info().dialect, command, DescribeConfigAccess("a write", field), std::move(done)));
}

void InitiatorSession::Reset(DoneCallback done) {
  Enqueue(std::make_unique<HandshakeScript>(&handshake_, /*restart=*/true, std::move(done)));
}

void InitiatorSession::Ping(std::function<void(absl::StatusOr<Nanoseconds>)> done) {
  Command command;
  command.kind = CommandKind::kGetStatus;  // `ref`: known peers do not survive a keepalive
  if (native()) command = KeepaliveCommand();
  Enqueue(std::make_unique<OneCommandScript>(
      info().dialect, command, "a ping",
      [this, done = std::move(done)](const absl::Status& status) {
        if (status.ok()) {
          done(round_trip_);
        } else {
          done(status);
        }
      }));
}

void InitiatorSession::Disconnect() {
  if (disconnecting_ || wants_close_) return;
  if (!ready_) {
    Fail(ClosedStatus());
    return;
  }
  // What is talking may finish its command; the rest is told that it is over.
  while (scripts_.size() > (waiting_ ? 1u : 0u)) {
    finished_.push_back({std::move(scripts_.back()), ClosedStatus()});
    scripts_.pop_back();
  }
  Command command;
  command.kind = native() ? CommandKind::kDisconnect : CommandKind::kResetDevice;
  Enqueue(std::make_unique<OneCommandScript>(info().dialect, command, "disconnect",
                                             [](const absl::Status&) {}));
  disconnecting_ = true;
}

void InitiatorSession::Fail(absl::Status why) {
  if (wants_close_) return;
  wants_close_ = true;
  status_ = std::move(why);
}

void InitiatorSession::OnHandshakeDone(const absl::Status& status) {
  if (status.ok() && options_.on_ready) options_.on_ready(info());
}

// --- Commands and answers ---

uint16_t InitiatorSession::NewId() {
  if (!native()) return 0;  // as Linux does; some targets answer with 0 whatever was sent
  uint16_t id = next_id_;
  next_id_ = static_cast<uint16_t>((next_id_ + 1) % kFirstReservedCommandId);
  return id;
}

Command InitiatorSession::KeepaliveCommand() const {
  Command command;
  command.kind = CommandKind::kKeepalive;
  command.interval_ms = keepalive_ms_;
  return command;
}

bool InitiatorSession::NextCommand(MonotonicTime now, Command* command) {
  if (wants_close_) return false;
  if (!started_) {
    started_ = true;
    connect_deadline_ = DeadlineAfter(now, options_.connect_timeout);
  }
  if (ready_ && keepalive_ms_ > 0 && keepalive_at_ == kInfiniteFuture && !keepalive_waiting_) {
    // The first at once: only it states the interval, and without one nobody misses this session.
    const bool stated = std::exchange(keepalive_stated_, true);
    keepalive_at_ = stated ? DeadlineAfter(now, Milliseconds(keepalive_ms_)) : now;
  }
  if (disconnecting_ && disconnect_deadline_ == kInfiniteFuture) {
    disconnect_deadline_ = DeadlineAfter(now, options_.disconnect_timeout);
  }
  while (!waiting_ && !scripts_.empty() && scripts_.front()->done()) FinishFront(absl::OkStatus());
  if (!waiting_ && !scripts_.empty() && scripts_.front()->Next(command)) {
    command->command_id = NewId();
    in_flight_ = *command;
    waiting_ = true;
    sent_at_ = now;
    // Of all that the operation asks for, or who answers late each time would hold it up for long.
    if (ready_ && command_deadline_ == kInfiniteFuture) {
      command_deadline_ = DeadlineAfter(now, options_.command_timeout);
    }
    return true;
  }
  if (now < keepalive_at_) return false;
  *command = KeepaliveCommand();
  command->command_id = keepalive_id_ = NewId();
  keepalive_waiting_ = true;
  keepalive_at_ = kInfiniteFuture;
  keepalive_deadline_ = DeadlineAfter(now, Milliseconds(keepalive_ms_));
  return true;
}

bool InitiatorSession::has_command() const {
  if (wants_close_ || waiting_ || scripts_.empty()) return false;
  return !handshake_.wants_virtqueues();  // the front one waits for them
}

CommandKind InitiatorSession::KindOf(uint16_t command_id) const {
  if (waiting_ && command_id == in_flight_.command_id) return in_flight_.kind;
  if (keepalive_waiting_ && command_id == keepalive_id_) return CommandKind::kKeepalive;
  return CommandKind::kUnknown;
}

WireError InitiatorSession::OnCompletion(const Completion& completion, MonotonicTime now) {
  if (waiting_ && completion.command_id == in_flight_.command_id) {
    waiting_ = false;
    round_trip_ = now - sent_at_;
    // A number that no dialect has may be anybody's first bytes.
    if (completion.ok() || completion.cause != Cause::kUnknown) met_a_target_ = true;
    InitiatorScript& script = *scripts_.front();
    const absl::Status status = script.OnAnswer(in_flight_, completion);
    if (!status.ok() && script.failure_ends_session()) Fail(status);
    if (!status.ok() || script.done()) FinishFront(status);
    return WireError::kNone;
  }
  if (!keepalive_waiting_ || completion.command_id != keepalive_id_) {
    return WireError::kUnknownCommandId;
  }
  keepalive_waiting_ = false;
  keepalive_deadline_ = kInfiniteFuture;
  if (!completion.ok()) Fail(RefusedStatus(info().dialect, "keepalive", completion));
  return WireError::kNone;
}

void InitiatorSession::FinishFront(const absl::Status& status) {
  if (status.ok() && handshake_.done()) {
    ready_ = true;
    connect_deadline_ = kInfiniteFuture;
  }
  command_deadline_ = kInfiniteFuture;
  finished_.push_back({std::move(scripts_.front()), status});
  scripts_.pop_front();
  if (disconnecting_ && scripts_.empty()) Fail(ClosedStatus());
}

WireError InitiatorSession::OnConfigChanged() {
  if (!handshake_.virtqueues_open()) return WireError::kUnexpectedEvent;  // none before DRIVER_OK
  config_changed_ = true;
  return WireError::kNone;
}

// --- Callbacks ---

bool InitiatorSession::has_callbacks() const {
  return !finished_.empty() || config_changed_ ||
         (handshake_.wants_virtqueues() && !asked_for_virtqueues_) || (closed_ && !reported_);
}

bool InitiatorSession::RunCallbacks() {
  bool called = false;
  // Callbacks may begin operations, and those may end at once: by index, and again next time.
  std::vector<Finished> finished = std::exchange(finished_, {});
  for (Finished& each : finished) {
    each.script->Finish(each.status);
    called = true;
  }
  if (handshake_.wants_virtqueues() && !asked_for_virtqueues_ && !wants_close_) {
    asked_for_virtqueues_ = called = true;
    if (options_.on_open_virtqueues) options_.on_open_virtqueues(info());
  }
  if (std::exchange(config_changed_, false)) {
    called = true;
    if (options_.on_config_changed) options_.on_config_changed();
  }
  if (closed_ && !reported_ && finished_.empty()) {
    reported_ = called = true;
    if (options_.on_ended) options_.on_ended(status_);
  }
  return called;
}

// --- Time and end ---

MonotonicTime InitiatorSession::NextDeadline() const {
  if (wants_close_) return kInfiniteFuture;
  return std::min({connect_deadline_, command_deadline_, keepalive_at_, keepalive_deadline_,
                   disconnect_deadline_});
}

void InitiatorSession::OnTimer(MonotonicTime now) {
  if (wants_close_) return;
  if (now >= disconnect_deadline_) {
    Fail(ClosedStatus());
  } else if (now >= command_deadline_) {
    Fail(TimedOutStatus(absl::StrCat("no answer to ", NameOf(in_flight_), " within ",
                                     LimitText(options_.command_timeout))));
  } else if (now >= connect_deadline_) {
    const Nanoseconds whole = options_.whole_connect_timeout;
    Fail(TimedOutStatus(absl::StrCat("the device was not set up within ",
                                     LimitText(whole != 0 ? whole : options_.connect_timeout),
                                     waiting_ ? ": no answer to " : "",
                                     waiting_ ? NameOf(in_flight_) : "")));
  } else if (now >= keepalive_deadline_) {
    Fail(TimedOutStatus(
        absl::StrCat("the target did not answer a keepalive within ", keepalive_ms_, " ms")));
  }
}

void InitiatorSession::OnClosed(CloseReason reason, int error) {
  if (closed_) return;
  closed_ = true;
  Fail(disconnecting_ ? ClosedStatus() : LostStatus(reason, error));
  waiting_ = keepalive_waiting_ = false;
  while (!scripts_.empty()) {
    finished_.push_back({std::move(scripts_.front()), status_});
    scripts_.pop_front();
  }
}

}  // namespace vof
