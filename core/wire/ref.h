// SPDX-License-Identifier: Apache-2.0
//
// The reference dialect (reference target, Linux initiator of 2023) behind the codec seam.
//
//   Command read{.kind = CommandKind::kVq, .command_id = 3, .ndesc = 3};
//   Ref::EncodeCommand(read, out);            // then ndesc segment descriptors of 24 bytes
//   Segment s = Ref::DecodeSegment(in);       // s.writable, s.length_bytes; s.id is echoed
//
// Virtqueue traffic is decoded and encoded inline; everything else, which is rare, is in ref.cc.
// Source: docs/protocol.md, "Dialect ref".
#ifndef VOF_CORE_WIRE_REF_H_
#define VOF_CORE_WIRE_REF_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/limits.h"
#include "core/base/little_endian.h"
#include "core/wire/codec.h"
#include "core/wire/command.h"
#include "core/wire/ref_layout.h"

namespace vof {

struct Ref {
  static constexpr Dialect kDialect = Dialect::kRef;
  static constexpr bool kSegmentedStreams = true;
  static constexpr size_t kDescriptorBytes = sizeof(ref::SegmentDescriptor);

  // Errors: kConnectLength (a Connect has one descriptor; its length is for the caller to check),
  // kConnectTransmission, kNoDescriptors, kTooManyDescriptors. Any command id is allowed, 0xff00
  // and up too. After an error `command` holds what was read, for logs only.
  static WireError DecodeCommand(HeaderIn in, Command& command) {
    const auto wire = ReadStruct<ref::VringCommand>(in);
    if (wire.header.opcode != ref::opcode::kVring) [[unlikely]] {
      return DecodeOtherCommand(in, command);
    }
    command = Command{};
    command.kind = CommandKind::kVq;
    command.opcode = ref::opcode::kVring;
    command.command_id = wire.header.command_id;
    command.ndesc = wire.ndesc;
    if (command.ndesc == 0) [[unlikely]]
      return WireError::kNoDescriptors;
    if (command.ndesc > kMaxSegments) [[unlikely]]
      return WireError::kTooManyDescriptors;
    return WireError::kNone;
  }

  // kResetDevice goes out as set_status 0. A kind that only `v5` has goes out as an opcode that
  // nobody has. The length of a vring command is out_length + in_length (peers ignore it).
  static void EncodeCommand(const Command& command, HeaderOut out) {
    if (command.kind != CommandKind::kVq) [[unlikely]] {
      EncodeOtherCommand(command, out);
      return;
    }
    ref::VringCommand wire{};
    wire.header.opcode = ref::opcode::kVring;
    wire.header.command_id = command.command_id;
    wire.length = command.out_length + command.in_length;
    wire.ndesc = command.ndesc;
    WriteStruct(wire, out);
  }

  static void EncodeCompletion(CommandKind kind, const Completion& completion, HeaderOut out) {
    ref::Completion wire{};
    wire.status = ToWire(completion.cause);
    wire.command_id = completion.command_id;
    if (kind == CommandKind::kVq) [[likely]] {
      wire.ndesc = completion.ndesc;
      wire.value = completion.used_length;
    } else {
      wire.value = OtherValue(kind, completion);
    }
    WriteStruct(wire, out);
  }

  // Never fails: whether the id and the lengths make sense, only the engine can tell.
  static Completion DecodeCompletion(CommandKind kind, HeaderIn in) {
    if (kind != CommandKind::kVq) [[unlikely]]
      return DecodeOtherCompletion(kind, in);
    const auto wire = ReadStruct<ref::Completion>(in);
    Completion completion;
    completion.status = wire.status;
    completion.cause = FromWire(kind, completion.status);
    completion.command_id = wire.command_id;
    completion.ndesc = wire.ndesc;
    completion.used_length = static_cast<uint32_t>(wire.value);
    return completion;
  }

  static Segment DecodeSegment(std::span<const std::byte> in) {
    const auto wire = ReadStruct<ref::SegmentDescriptor>(in);
    Segment segment;
    segment.address = wire.address;
    segment.length_bytes = wire.length;
    segment.key = wire.key;
    segment.id = wire.id;
    segment.writable = (wire.flags & ref::kFlagWritable) != 0;
    return segment;
  }
  static void EncodeSegment(const Segment& segment, std::span<std::byte> out) {
    ref::SegmentDescriptor wire{};
    wire.address = segment.address;
    wire.length = segment.length_bytes;
    wire.id = segment.id;
    wire.flags = segment.writable ? ref::kFlagWritable : uint16_t{0};
    wire.key = segment.key;
    WriteStruct(wire, out);
  }
  // A received descriptor as it goes back in a response: as it came but for the address, which
  // known peers fill with the running offset into the data.
  static void EchoSegment(std::span<const std::byte> in, uint64_t offset,
                          std::span<std::byte> out) {
    auto wire = ReadStruct<ref::SegmentDescriptor>(in);
    wire.address = offset;
    WriteStruct(wire, out);
  }

  static uint16_t ToWire(Cause cause) {
    return cause == Cause::kOk ? ref::status::kSuccess : FailureToWire(cause);
  }
  // One errno stands for several causes; the answered command narrows it: 22 is a configuration
  // offset, a feature, a status or a queue size. 19 is read as kUnknownName, 16 as kExclusiveUse,
  // 12 as kLimit; and 5 as kUnknown, because the reference target sends it for any failed I/O.
  static Cause FromWire(CommandKind kind, uint16_t status) {
    return status == ref::status::kSuccess ? Cause::kOk : FailureFromWire(kind, status);
  }
  // "EBUSY"; "unknown" for a number that the dialect does not have.
  static std::string_view StatusName(uint16_t status);

  static CommandKind CommandKindOf(uint16_t opcode);
  // 0xffff for kUnknown and for kinds that the dialect does not have.
  static uint16_t OpcodeOf(CommandKind kind);

 private:
  static WireError DecodeOtherCommand(HeaderIn in, Command& command);
  static void EncodeOtherCommand(const Command& command, HeaderOut out);
  static uint64_t OtherValue(CommandKind kind, const Completion& completion);
  static Completion DecodeOtherCompletion(CommandKind kind, HeaderIn in);
  static uint16_t FailureToWire(Cause cause);
  static Cause FailureFromWire(CommandKind kind, uint16_t status);
};

static_assert(Codec<Ref>);

}  // namespace vof

#endif  // VOF_CORE_WIRE_REF_H_
