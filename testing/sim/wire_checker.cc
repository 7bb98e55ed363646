// SPDX-License-Identifier: Apache-2.0
#include "testing/sim/wire_checker.h"

#include <algorithm>
#include <optional>

#include "core/base/limits.h"
#include "core/wire/ref.h"
#include "core/wire/v5.h"

namespace vof {
namespace {

HeaderIn HeaderOf(std::span<const std::byte> bytes) { return bytes.first<kHeaderBytes>(); }

}  // namespace

void WireChecker::OnBytes(int from_side, std::span<const std::byte> bytes) {
  Lane& lane = lanes_[from_side];
  const size_t skipped = std::min<uint64_t>(lane.skip_bytes, bytes.size());
  lane.skip_bytes -= skipped;
  bytes = bytes.subspan(skipped);
  lane.bytes.insert(lane.bytes.end(), bytes.begin(), bytes.end());
  if (!rules_.connect_seen() && lanes_[0].bytes.size() >= kHeaderBytes) {
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
  if (C::DecodeCommand(HeaderOf(bytes), command) != WireError::kNone) command = {};
  rules_.OnConnect(command, is_ref_);
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
  if (!rules_.connect_seen()) return Connect<C>(bytes);
  Command command;
  if (C::DecodeCommand(HeaderOf(bytes), command) != WireError::kNone ||
      command.kind == CommandKind::kUnknown) {
    rules_.Broken("the initiator sent a command that does not decode");
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
  }
  rules_.OnCommand(command);
  return size;
}

template <Codec C>
size_t WireChecker::FromTarget(std::span<const std::byte> bytes) {
  if (rules_.OnConnectAnswer()) return kHeaderBytes;
  return rules_.is_control() ? ControlCompletion<C>(bytes) : VqCompletion<C>(bytes);
}

template <Codec C>
size_t WireChecker::ControlCompletion(std::span<const std::byte> bytes) {
  const Completion completion = C::DecodeCompletion(CommandKind::kUnknown, HeaderOf(bytes));
  const std::optional<Command> command = rules_.OnControlAnswer(completion.command_id);
  if (command) {
    rules_.OnControlResult(*command, C::DecodeCompletion(command->kind, HeaderOf(bytes)));
  }
  return kHeaderBytes;
}

template <Codec C>
size_t WireChecker::VqCompletion(std::span<const std::byte> bytes) {
  const Completion completion = C::DecodeCompletion(CommandKind::kVq, HeaderOf(bytes));
  size_t size = kHeaderBytes;
  uint64_t payload_bytes = completion.used_length;
  if constexpr (C::kSegmentedStreams) {
    size += completion.ndesc * C::kDescriptorBytes;
    if (bytes.size() < size) return 0;
    payload_bytes =
        SegmentBytes<C>(bytes.subspan(kHeaderBytes, size - kHeaderBytes), /*writable=*/true);
  }
  if (rules_.OnVqAnswer(completion)) lanes_[SimPipe::kTarget].skip_bytes = payload_bytes;
  return size;
}

}  // namespace vof
