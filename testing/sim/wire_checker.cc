// SPDX-License-Identifier: Apache-2.0
#include "testing/sim/wire_checker.h"

#include <algorithm>

#include "core/base/limits.h"
#include "core/engine/virtio_status.h"
#include "core/wire/ref.h"
#include "core/wire/v5.h"

namespace vof {
namespace {

HeaderIn HeaderOf(std::span<const std::byte> bytes) { return bytes.first<kHeaderBytes>(); }

bool IsReset(const Command& command) {
  return command.kind == CommandKind::kResetDevice ||
         (command.kind == CommandKind::kSetStatus && command.value == 0);
}

}  // namespace

void WireChecker::OnBytes(int from_side, std::span<const std::byte> bytes) {
  Lane& lane = lanes_[from_side];
  const size_t skipped = std::min<uint64_t>(lane.skip_bytes, bytes.size());
  lane.skip_bytes -= skipped;
  bytes = bytes.subspan(skipped);
  lane.bytes.insert(lane.bytes.end(), bytes.begin(), bytes.end());
  if (!connect_seen_ && lanes_[0].bytes.size() >= kHeaderBytes) {
    is_ref_ = lanes_[0].bytes[8] == std::byte{1};  // ndesc; `v5` has 1024 there
  }
  if (is_ref_) {
    Parse<Ref>(from_side);
  } else {
    Parse<V5>(from_side);
  }
}

template <Codec C>
void WireChecker::Parse(int from_side) {
  Lane& lane = lanes_[from_side];
  size_t used = 0;
  while (lane.bytes.size() - used >= kHeaderBytes) {
    const std::span<const std::byte> rest = std::span<const std::byte>(lane.bytes).subspan(used);
    const size_t message =
        from_side == SimPipe::kInitiator ? FromInitiator<C>(rest) : FromTarget<C>(rest);
    if (message == 0) break;
    const size_t skipped = std::min<uint64_t>(lane.skip_bytes, rest.size() - message);
    lane.skip_bytes -= skipped;
    used += message + skipped;
  }
  lane.bytes.erase(lane.bytes.begin(), lane.bytes.begin() + static_cast<ptrdiff_t>(used));
}

template <Codec C>
size_t WireChecker::Connect(std::span<const std::byte> bytes) {
  const size_t size =
      kHeaderBytes + (C::kSegmentedStreams ? C::kDescriptorBytes : 0) + kConnectBodyBytes;
  if (bytes.size() < size) return 0;
  Command command;
  if (C::DecodeCommand(HeaderOf(bytes), command) != WireError::kNone ||
      command.kind != CommandKind::kConnect) {
    fail_("a connection of an initiator does not begin with Connect");
  }
  connect_seen_ = true;
  is_control_ = command.instance_id == kControlInstanceId;
  const auto it = session_->queue_sizes.find(command.queue_index);
  queue_size_ = command.queue_size != 0             ? command.queue_size
                : it != session_->queue_sizes.end() ? it->second
                                                    : kMaxQueueSize;
  held_ = queue_size_;
  return size;
}

template <Codec C>
uint64_t WireChecker::SegmentBytes(std::span<const std::byte> descriptors, bool writable) const {
  uint64_t total = 0;
  while (!descriptors.empty()) {
    const Segment segment = C::DecodeSegment(descriptors.first(C::kDescriptorBytes));
    if (segment.writable == writable) total += segment.length_bytes;
    descriptors = descriptors.subspan(C::kDescriptorBytes);
  }
  return total;
}

template <Codec C>
size_t WireChecker::FromInitiator(std::span<const std::byte> bytes) {
  if (!connect_seen_) return Connect<C>(bytes);
  Command command;
  if (C::DecodeCommand(HeaderOf(bytes), command) != WireError::kNone ||
      command.kind == CommandKind::kUnknown) {
    fail_("the initiator sent a command that does not decode");
    return kHeaderBytes;
  }
  size_t size = kHeaderBytes;
  if (command.kind == CommandKind::kVq) {
    lanes_[SimPipe::kInitiator].skip_bytes = command.out_length;
    if constexpr (C::kSegmentedStreams) {
      size += command.ndesc * C::kDescriptorBytes;
      if (bytes.size() < size) return 0;
      const auto descriptors = bytes.subspan(kHeaderBytes, size - kHeaderBytes);
      lanes_[SimPipe::kInitiator].skip_bytes = SegmentBytes<C>(descriptors, /*writable=*/false);
    }
    OnVqCommand(command);
  } else if (is_control_) {
    OnControlCommand(command);
  }
  return size;
}

void WireChecker::OnControlCommand(const Command& command) {
  if (command.kind == CommandKind::kSetStatus && (command.value & virtio_status::kDriverOk) != 0) {
    session_->driver_ok = true;
  }
  if (is_ref_) {
    control_in_flight_.push_back(command);
  } else if (!in_flight_.emplace(command.command_id, command).second) {
    fail_("the initiator used a control command id twice");
  }
}

void WireChecker::OnVqCommand(const Command& command) {
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

template <Codec C>
size_t WireChecker::FromTarget(std::span<const std::byte> bytes) {
  if (!connect_answered_) {
    connect_answered_ = true;
    if (!connect_seen_) fail_("the target spoke before it was asked");
    return kHeaderBytes;
  }
  return is_control_ ? ControlCompletion<C>(bytes) : VqCompletion<C>(bytes);
}

template <Codec C>
size_t WireChecker::ControlCompletion(std::span<const std::byte> bytes) {
  Completion completion = C::DecodeCompletion(CommandKind::kUnknown, HeaderOf(bytes));
  Command command;
  if (is_ref_) {
    if (control_in_flight_.empty()) {
      fail_("the target answered a control command that was not sent");
      return kHeaderBytes;
    }
    command = control_in_flight_.front();
    control_in_flight_.erase(control_in_flight_.begin());
  } else if (completion.command_id == kEventConfigChanged) {
    if (!session_->driver_ok) fail_("a configuration event before DRIVER_OK");
    return kHeaderBytes;
  } else if (completion.command_id != kEventKeepalive) {
    const auto it = in_flight_.find(completion.command_id);
    if (it == in_flight_.end()) {
      fail_("the target answered a control command that was not sent");
      return kHeaderBytes;
    }
    command = it->second;
    in_flight_.erase(it);
  }
  completion = C::DecodeCompletion(command.kind, HeaderOf(bytes));
  if (IsReset(command)) session_->driver_ok = false;
  if (!completion.ok()) return kHeaderBytes;
  if (command.kind == CommandKind::kSetFeature && !is_ref_) {
    session_->credit = (command.value & transport_feature::kCredit) != 0;
  } else if (command.kind == CommandKind::kGetVqSize) {
    session_->queue_sizes[command.queue_index] = static_cast<uint16_t>(completion.value);
  }
  return kHeaderBytes;
}

template <Codec C>
size_t WireChecker::VqCompletion(std::span<const std::byte> bytes) {
  const Completion completion = C::DecodeCompletion(CommandKind::kVq, HeaderOf(bytes));
  if (!is_ref_ && completion.command_id == kEventCredit) {
    if (!session_->credit || completion.grant == 0) fail_("a credit event without sense");
    OnGrant(completion.grant, /*answers_command=*/false);
    return kHeaderBytes;
  }
  size_t size = kHeaderBytes;
  uint64_t payload_bytes = completion.used_length;
  if constexpr (C::kSegmentedStreams) {
    size += completion.ndesc * C::kDescriptorBytes;
    if (bytes.size() < size) return 0;
    payload_bytes =
        SegmentBytes<C>(bytes.subspan(kHeaderBytes, size - kHeaderBytes), /*writable=*/true);
  }
  const auto it = in_flight_.find(completion.command_id);
  if (it == in_flight_.end()) {
    fail_("the target answered virtqueue command " + std::to_string(completion.command_id) +
          ", which is not in flight");
    return size;
  }
  in_flight_.erase(it);
  lanes_[SimPipe::kTarget].skip_bytes = payload_bytes;
  if (session_->credit) OnGrant(completion.grant, /*answers_command=*/true);
  return size;
}

void WireChecker::OnGrant(uint16_t grant, bool answers_command) {
  held_ += grant;
  const int64_t window = held_ + static_cast<int64_t>(in_flight_.size());
  if (window < 1 || window > queue_size_) {
    fail_("the credit window is " + std::to_string(window) + " of " + std::to_string(queue_size_) +
          (answers_command ? " after an answer" : " after a credit event"));
  }
}

}  // namespace vof
