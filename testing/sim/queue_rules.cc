// SPDX-License-Identifier: Apache-2.0
#include "testing/sim/queue_rules.h"

#include "core/base/limits.h"
#include "core/engine/virtio_status.h"

namespace vof {
namespace {

bool IsReset(const Command& command) {
  return command.kind == CommandKind::kResetDevice ||
         (command.kind == CommandKind::kSetStatus && command.value == 0);
}

}  // namespace

void QueueRules::OnConnect(const Command& command, bool is_ref) {
  if (command.kind != CommandKind::kConnect) {
    fail_("a connection of an initiator does not begin with Connect");
  }
  connect_seen_ = true;
  is_ref_ = is_ref;
  is_control_ = command.instance_id == kControlInstanceId;
  const auto it = session_->queue_sizes.find(command.queue_index);
  queue_size_ = command.queue_size != 0             ? command.queue_size
                : it != session_->queue_sizes.end() ? it->second
                                                    : kMaxQueueSize;
  held_ = queue_size_;
}

void QueueRules::OnCommand(const Command& command) {
  if (command.kind == CommandKind::kVq) {
    OnVqCommand(command);
  } else if (is_control_) {
    OnControlCommand(command);
  }
}

void QueueRules::OnControlCommand(const Command& command) {
  if (command.kind == CommandKind::kSetStatus && (command.value & virtio_status::kDriverOk) != 0) {
    session_->driver_ok = true;
  }
  if (is_ref_) {
    control_in_flight_.push_back(command);
  } else if (!in_flight_.emplace(command.command_id, command).second) {
    fail_("the initiator used a control command id twice");
  }
}

void QueueRules::OnVqCommand(const Command& command) {
  if (is_control_) fail_("a virtqueue request on the control queue");
  if (!connect_answered_) fail_("a virtqueue request before Connect was answered");
  if (!in_flight_.emplace(command.command_id, command).second) {
    fail_("command id " + std::to_string(command.command_id) + " is in flight twice");
  }
  if (static_cast<int64_t>(in_flight_.size()) > queue_size_) {
    fail_("more commands in flight than the queue holds");
  }
  if (session_->credit && --held_ < 0) fail_("a command was sent without a credit");
}

bool QueueRules::OnConnectAnswer() {
  if (std::exchange(connect_answered_, true)) return false;
  if (!connect_seen_) fail_("the target spoke before it was asked");
  return true;
}

std::optional<Command> QueueRules::OnControlAnswer(uint16_t command_id) {
  std::optional<Command> command;
  if (is_ref_) {
    if (!control_in_flight_.empty()) {
      command = control_in_flight_.front();
      control_in_flight_.erase(control_in_flight_.begin());
    }
  } else if (command_id == kEventConfigChanged) {
    if (!session_->driver_ok) fail_("a configuration event before DRIVER_OK");
    return std::nullopt;
  } else if (command_id == kEventKeepalive) {
    return Command{};
  } else if (const auto it = in_flight_.find(command_id); it != in_flight_.end()) {
    command = it->second;
    in_flight_.erase(it);
  }
  if (!command) fail_("the target answered a control command that was not sent");
  return command;
}

void QueueRules::OnControlResult(const Command& command, const Completion& completion) {
  if (IsReset(command)) session_->driver_ok = false;
  if (!completion.ok()) return;
  if (command.kind == CommandKind::kSetFeature && !is_ref_) {
    session_->credit = (command.value & transport_feature::kCredit) != 0;
    session_->inline_data = (command.value & transport_feature::kInline) != 0;
  } else if (command.kind == CommandKind::kGetVqSize) {
    session_->queue_sizes[command.queue_index] = static_cast<uint16_t>(completion.value);
  }
}

bool QueueRules::OnVqAnswer(const Completion& completion) {
  if (!is_ref_ && completion.command_id == kEventCredit) {
    if (!session_->credit || completion.grant == 0) fail_("a credit event without sense");
    OnGrant(completion.grant, /*answers_command=*/false);
    return false;
  }
  if (in_flight_.erase(completion.command_id) == 0) {
    fail_("the target answered virtqueue command " + std::to_string(completion.command_id) +
          ", which is not in flight");
    return false;
  }
  if (session_->credit) OnGrant(completion.grant, /*answers_command=*/true);
  return true;
}

void QueueRules::OnGrant(uint16_t grant, bool answers_command) {
  held_ += grant;
  const int64_t window = held_ + static_cast<int64_t>(in_flight_.size());
  if (window < 1 || window > queue_size_) {
    fail_("the credit window is " + std::to_string(window) + " of " + std::to_string(queue_size_) +
          (answers_command ? " after an answer" : " after a credit event"));
  }
}

}  // namespace vof
