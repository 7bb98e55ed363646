// SPDX-License-Identifier: Apache-2.0
//
// The native dialect behind the codec seam.
//
//   Command read{.kind = CommandKind::kVq, .command_id = 3, .out_length = 16, .in_length = 4097};
//   V5::EncodeCommand(read, out);
//   Completion c = V5::DecodeCompletion(CommandKind::kVq, in);
//   Fill(c.used_length, c.grant);
//
// Virtqueue traffic is decoded and encoded inline; everything else, which is rare, is in v5.cc.
// Source: docs/protocol.md, "Dialect v5".
#ifndef VOF_CORE_WIRE_V5_H_
#define VOF_CORE_WIRE_V5_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/limits.h"
#include "core/base/little_endian.h"
#include "core/wire/codec.h"
#include "core/wire/command.h"
#include "core/wire/v5_layout.h"

namespace vof {

struct V5 {
  static constexpr Dialect kDialect = Dialect::kV5;
  static constexpr bool kSegmentedStreams = false;
  static constexpr size_t kDescriptorBytes = sizeof(v5::KeyedDescriptor);

  // Errors: kReservedCommandId, kConnectLength. A configuration access of 3 bytes is none: the
  // engine answers it. After an error `command` holds what was read, for logs only.
  static WireError DecodeCommand(HeaderIn in, Command& command) {
    const auto wire = ReadStruct<v5::VqCommand>(in);
    if (wire.header.opcode != v5::opcode::kVq) [[unlikely]] {
      return DecodeOtherCommand(in, command);
    }
    command = Command{};
    command.kind = CommandKind::kVq;
    command.opcode = v5::opcode::kVq;
    command.command_id = wire.header.command_id;
    command.out_length = wire.out_length;
    command.in_length = wire.in_length;
    return CheckCommandId(command);
  }

  // A kind that only `ref` has goes out as an opcode that nobody has, which peers answer ENOCMD.
  static void EncodeCommand(const Command& command, HeaderOut out) {
    if (command.kind != CommandKind::kVq) [[unlikely]] {
      EncodeOtherCommand(command, out);
      return;
    }
    v5::VqCommand wire{};
    wire.header.opcode = v5::opcode::kVq;
    wire.header.command_id = command.command_id;
    wire.out_length = command.out_length;
    wire.in_length = command.in_length;
    WriteStruct(wire, out);
  }

  static void EncodeCompletion(CommandKind kind, const Completion& completion, HeaderOut out) {
    if (kind != CommandKind::kVq) [[unlikely]] {
      EncodeOtherCompletion(kind, completion, out);
      return;
    }
    v5::VqCompletion wire{};
    wire.header.status = ToWire(completion.cause);
    wire.header.command_id = completion.command_id;
    wire.grant = completion.grant;
    wire.length = completion.used_length;
    wire.in_length = completion.inline_length;
    WriteStruct(wire, out);
  }

  // Never fails: whether the id and the lengths make sense, only the engine can tell.
  static Completion DecodeCompletion(CommandKind kind, HeaderIn in) {
    if (kind != CommandKind::kVq) [[unlikely]]
      return DecodeOtherCompletion(kind, in);
    const auto wire = ReadStruct<v5::VqCompletion>(in);
    Completion completion;
    completion.status = wire.header.status;
    completion.cause = FromWire(completion.status);
    completion.command_id = wire.header.command_id;
    completion.grant = wire.grant;
    completion.used_length = wire.length;
    completion.inline_length = wire.in_length;
    return completion;
  }

  // Keyed descriptors. Those of `v5` carry neither direction nor id.
  static Segment DecodeSegment(std::span<const std::byte> in) {
    const auto wire = ReadStruct<v5::KeyedDescriptor>(in);
    Segment segment;
    segment.address = wire.address;
    segment.length_bytes = wire.length;
    segment.key = wire.key;
    return segment;
  }
  static void EncodeSegment(const Segment& segment, std::span<std::byte> out) {
    v5::KeyedDescriptor wire;
    wire.address = segment.address;
    wire.length = segment.length_bytes;
    wire.key = segment.key;
    WriteStruct(wire, out);
  }

  static uint16_t ToWire(Cause cause) {
    return cause == Cause::kOk ? v5::status::kSuccess : FailureToWire(cause);
  }
  // ENODEV has two causes; it is read as the likelier one, kExclusiveUse.
  static Cause FromWire(uint16_t status) {
    return status == v5::status::kSuccess ? Cause::kOk : FailureFromWire(status);
  }
  // "ENOTGT"; "unknown" for a number that the dialect does not have.
  static std::string_view StatusName(uint16_t status);

  static CommandKind CommandKindOf(uint16_t opcode);
  // 0xffff for kUnknown and for kinds that the dialect does not have.
  static uint16_t OpcodeOf(CommandKind kind);

 private:
  static WireError CheckCommandId(const Command& command) {
    return command.command_id >= kFirstReservedCommandId ? WireError::kReservedCommandId
                                                         : WireError::kNone;
  }
  static WireError DecodeOtherCommand(HeaderIn in, Command& command);
  static void EncodeOtherCommand(const Command& command, HeaderOut out);
  static void EncodeOtherCompletion(CommandKind kind, const Completion& completion, HeaderOut out);
  static Completion DecodeOtherCompletion(CommandKind kind, HeaderIn in);
  static uint16_t FailureToWire(Cause cause);
  static Cause FailureFromWire(uint16_t status);
};

static_assert(Codec<V5>);

}  // namespace vof

#endif  // VOF_CORE_WIRE_V5_H_
