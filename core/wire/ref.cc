// SPDX-License-Identifier: Apache-2.0
#include "core/wire/ref.h"

#include <array>

namespace vof {
namespace {

constexpr uint16_t kNoOpcode = 0xffff;

struct OpcodeRow {
  CommandKind kind;
  uint16_t opcode;
};
constexpr std::array kOpcodes = {
    OpcodeRow{CommandKind::kConnect, ref::opcode::kConnect},
    OpcodeRow{CommandKind::kDisconnect, ref::opcode::kDisconnect},
    OpcodeRow{CommandKind::kKeepalive, ref::opcode::kKeepalive},
    OpcodeRow{CommandKind::kGetFeature, ref::opcode::kGetFeature},
    OpcodeRow{CommandKind::kSetFeature, ref::opcode::kSetFeature},
    OpcodeRow{CommandKind::kVq, ref::opcode::kVring},
    OpcodeRow{CommandKind::kGetVendorId, ref::opcode::kGetVendorId},
    OpcodeRow{CommandKind::kGetDeviceId, ref::opcode::kGetDeviceId},
    OpcodeRow{CommandKind::kGetStatus, ref::opcode::kGetStatus},
    OpcodeRow{CommandKind::kSetStatus, ref::opcode::kSetStatus},
    // After kSetStatus: received, this opcode is kSetStatus.
    OpcodeRow{CommandKind::kResetDevice, ref::opcode::kSetStatus},
    OpcodeRow{CommandKind::kGetDeviceFeature, ref::opcode::kGetDeviceFeature},
    OpcodeRow{CommandKind::kSetDriverFeature, ref::opcode::kSetDriverFeature},
    OpcodeRow{CommandKind::kGetVqSize, ref::opcode::kGetQueueSize},
    OpcodeRow{CommandKind::kSetVqSize, ref::opcode::kSetQueueSize},
    OpcodeRow{CommandKind::kGetConfig, ref::opcode::kGetConfig},
    OpcodeRow{CommandKind::kSetConfig, ref::opcode::kSetConfig},
    OpcodeRow{CommandKind::kGetNumQueues, ref::opcode::kGetNumQueues},
    OpcodeRow{CommandKind::kGetGeneration, ref::opcode::kGetGeneration},
    OpcodeRow{CommandKind::kGetConfigChanged, ref::opcode::kGetConfigChanged},
};

struct CauseRow {
  Cause cause;
  uint16_t status;
};
constexpr std::array kCauses = {
    CauseRow{Cause::kOk, ref::status::kSuccess},
    CauseRow{Cause::kUnknownCommand, ref::status::kEopnotsupp},
    CauseRow{Cause::kTooManyCommands, ref::status::kEnomem},
    CauseRow{Cause::kUnknownName, ref::status::kEnodev},
    CauseRow{Cause::kExclusiveUse, ref::status::kEbusy},
    CauseRow{Cause::kLimit, ref::status::kEnomem},
    CauseRow{Cause::kAccess, ref::status::kEacces},
    CauseRow{Cause::kNoInstance, ref::status::kEnodev},
    CauseRow{Cause::kNamesDiffer, ref::status::kEproto},
    CauseRow{Cause::kQueueIndex, ref::status::kEchrng},
    CauseRow{Cause::kQueueBusy, ref::status::kEbusy},
    CauseRow{Cause::kQueueSize, ref::status::kEinval},
    CauseRow{Cause::kFeature, ref::status::kEinval},
    CauseRow{Cause::kStatus, ref::status::kEinval},
    CauseRow{Cause::kDeviceFeature, ref::status::kEinval},
    CauseRow{Cause::kConfigOffset, ref::status::kEinval},
    CauseRow{Cause::kConfigBytes, ref::status::kEinval},
    CauseRow{Cause::kOutLength, ref::status::kEio},
    CauseRow{Cause::kInLength, ref::status::kEio},
};

Cause InvalidArgumentCause(CommandKind kind) {
  switch (kind) {
    case CommandKind::kGetFeature:
    case CommandKind::kSetFeature:
      return Cause::kFeature;
    case CommandKind::kResetDevice:
    case CommandKind::kGetStatus:
    case CommandKind::kSetStatus:
      return Cause::kStatus;
    case CommandKind::kGetDeviceFeature:
    case CommandKind::kSetDriverFeature:
      return Cause::kDeviceFeature;
    case CommandKind::kGetVqSize:
    case CommandKind::kSetVqSize:
      return Cause::kQueueSize;
    case CommandKind::kGetConfig:
    case CommandKind::kSetConfig:
      return Cause::kConfigOffset;
    default:
      return Cause::kUnknown;
  }
}

// How many low bits of a completion's value answer this kind; what is above may be uninitialised.
uint64_t AnswerMask(CommandKind kind) {
  switch (kind) {
    case CommandKind::kGetVendorId:
    case CommandKind::kGetDeviceId:
    case CommandKind::kGetGeneration:
    case CommandKind::kGetStatus:
      return 0xffffffff;
    case CommandKind::kConnect:
    case CommandKind::kGetNumQueues:
    case CommandKind::kGetVqSize:
      return 0xffff;
    case CommandKind::kGetConfigChanged:
      return 0xff;
    case CommandKind::kGetFeature:
    case CommandKind::kGetDeviceFeature:
    case CommandKind::kGetConfig:  // as wide as the request said, which the caller knows
      return ~uint64_t{0};
    default:
      return 0;
  }
}

// One Load/Store pair per structure: between the bytes of its body and the neutral form.

void Load(const ref::CommonCommand&, Command&) {}
void Store(const Command&, ref::CommonCommand&) {}

void Load(const ref::ConnectCommand& wire, Command& command) {
  command.instance_id = wire.target_id;
  command.queue_index = wire.queue_id;
  command.ndesc = wire.ndesc;
  command.body_length = kConnectBodyBytes;
  command.transmission = static_cast<Transmission>(wire.oftype);
}
void Store(const Command& command, ref::ConnectCommand& wire) {
  wire.target_id = command.instance_id;
  wire.queue_id = command.queue_index;
  wire.ndesc = 1;
  wire.oftype = static_cast<uint8_t>(command.transmission);
}

void Load(const ref::GetFeatureCommand& wire, Command& command) { command.select = wire.select; }
void Store(const Command& command, ref::GetFeatureCommand& wire) { wire.select = command.select; }

void Load(const ref::SetFeatureCommand& wire, Command& command) {
  command.select = wire.select;
  command.value = wire.value;
}
void Store(const Command& command, ref::SetFeatureCommand& wire) {
  wire.select = command.select;
  wire.value = command.value;
}

void Load(const ref::SetStatusCommand& wire, Command& command) { command.value = wire.status; }
void Store(const Command& command, ref::SetStatusCommand& wire) {
  wire.status = static_cast<uint32_t>(command.value);
}

void Load(const ref::GetQueueSizeCommand& wire, Command& command) {
  command.queue_index = wire.queue_id;
}
void Store(const Command& command, ref::GetQueueSizeCommand& wire) {
  wire.queue_id = command.queue_index;
}

void Load(const ref::SetQueueSizeCommand& wire, Command& command) {
  command.queue_index = wire.queue_id;
  command.value = wire.size;
}
void Store(const Command& command, ref::SetQueueSizeCommand& wire) {
  wire.queue_id = command.queue_index;
  wire.size = command.value;
}

void Load(const ref::GetConfigCommand& wire, Command& command) {
  command.offset = wire.offset;
  command.bytes = wire.bytes;
}
void Store(const Command& command, ref::GetConfigCommand& wire) {
  wire.offset = command.offset;
  wire.bytes = command.bytes;
}

void Load(const ref::SetConfigCommand& wire, Command& command) {
  command.offset = wire.offset;
  command.bytes = wire.bytes;
  command.value = wire.value;
}
void Store(const Command& command, ref::SetConfigCommand& wire) {
  wire.offset = command.offset;
  wire.bytes = command.bytes;
  wire.value = command.value;
}

// Calls `visit` with a zeroed object of the structure that commands of this kind travel as.
template <typename Visitor>
void VisitCommandLayout(CommandKind kind, Visitor visit) {
  switch (kind) {
    case CommandKind::kConnect:
      return visit(ref::ConnectCommand{});
    case CommandKind::kGetFeature:
    case CommandKind::kGetDeviceFeature:
      return visit(ref::GetFeatureCommand{});
    case CommandKind::kSetFeature:
    case CommandKind::kSetDriverFeature:
      return visit(ref::SetFeatureCommand{});
    case CommandKind::kSetStatus:
      return visit(ref::SetStatusCommand{});
    case CommandKind::kGetVqSize:
      return visit(ref::GetQueueSizeCommand{});
    case CommandKind::kSetVqSize:
      return visit(ref::SetQueueSizeCommand{});
    case CommandKind::kGetConfig:
      return visit(ref::GetConfigCommand{});
    case CommandKind::kSetConfig:
      return visit(ref::SetConfigCommand{});
    default:  // kResetDevice too: a status of 0 is all zeros
      return visit(ref::CommonCommand{});
  }
}

WireError CheckConnect(const Command& command) {
  if (command.ndesc != 1) return WireError::kConnectLength;
  if (command.transmission != Transmission::kStream &&
      command.transmission != Transmission::kKeyed) {
    return WireError::kConnectTransmission;
  }
  return WireError::kNone;
}

}  // namespace

WireError Ref::DecodeOtherCommand(HeaderIn in, Command& command) {
  const auto header = ReadStruct<ref::CommandHeader>(in);
  command = Command{};
  command.kind = CommandKindOf(header.opcode);
  command.opcode = header.opcode;
  command.command_id = header.command_id;
  VisitCommandLayout(command.kind,
                     [&](auto layout) { Load(ReadStruct<decltype(layout)>(in), command); });
  return command.kind == CommandKind::kConnect ? CheckConnect(command) : WireError::kNone;
}

void Ref::EncodeOtherCommand(const Command& command, HeaderOut out) {
  VisitCommandLayout(command.kind, [&](auto wire) {
    wire.header.opcode =
        command.kind == CommandKind::kUnknown ? command.opcode : OpcodeOf(command.kind);
    wire.header.command_id = command.command_id;
    Store(command, wire);
    WriteStruct(wire, out);
  });
}

uint64_t Ref::OtherValue(CommandKind kind, const Completion& completion) {
  if (kind == CommandKind::kConnect) return completion.instance_id;
  return completion.value & AnswerMask(kind);
}

Completion Ref::DecodeOtherCompletion(CommandKind kind, HeaderIn in) {
  const auto wire = ReadStruct<ref::Completion>(in);
  const uint64_t answer = wire.value & AnswerMask(kind);
  Completion completion;
  completion.status = wire.status;
  completion.cause = FromWire(kind, completion.status);
  completion.command_id = wire.command_id;
  if (kind == CommandKind::kConnect) {
    completion.instance_id = static_cast<uint16_t>(answer);
  } else {
    completion.value = answer;
  }
  return completion;
}

uint16_t Ref::FailureToWire(Cause cause) {
  for (const CauseRow& row : kCauses) {
    if (row.cause == cause) return row.status;
  }
  return ref::status::kUnknown;
}

Cause Ref::FailureFromWire(CommandKind kind, uint16_t status) {
  switch (status) {
    case ref::status::kEnomem:
      return Cause::kLimit;
    case ref::status::kEacces:
      return Cause::kAccess;
    case ref::status::kEbusy:
      return Cause::kExclusiveUse;
    case ref::status::kEnodev:
      return Cause::kUnknownName;
    case ref::status::kEinval:
      return InvalidArgumentCause(kind);
    case ref::status::kEchrng:
      return Cause::kQueueIndex;
    case ref::status::kEproto:
      return Cause::kNamesDiffer;
    case ref::status::kEopnotsupp:
      return Cause::kUnknownCommand;
    default:
      return Cause::kUnknown;
  }
}

std::string_view Ref::StatusName(uint16_t status) {
  switch (status) {
    case ref::status::kSuccess:
      return "success";
    case ref::status::kEio:
      return "EIO";
    case ref::status::kEnomem:
      return "ENOMEM";
    case ref::status::kEacces:
      return "EACCES";
    case ref::status::kEbusy:
      return "EBUSY";
    case ref::status::kEnodev:
      return "ENODEV";
    case ref::status::kEinval:
      return "EINVAL";
    case ref::status::kErange:
      return "ERANGE";
    case ref::status::kEchrng:
      return "ECHRNG";
    case ref::status::kEproto:
      return "EPROTO";
    case ref::status::kEopnotsupp:
      return "EOPNOTSUPP";
    case ref::status::kEtimedout:
      return "ETIMEDOUT";
    default:
      return "unknown";
  }
}

CommandKind Ref::CommandKindOf(uint16_t opcode) {
  for (const OpcodeRow& row : kOpcodes) {
    if (row.opcode == opcode) return row.kind;
  }
  return CommandKind::kUnknown;
}

uint16_t Ref::OpcodeOf(CommandKind kind) {
  for (const OpcodeRow& row : kOpcodes) {
    if (row.kind == kind) return row.opcode;
  }
  return kNoOpcode;
}

}  // namespace vof
