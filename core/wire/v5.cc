// SPDX-License-Identifier: Apache-2.0
#include "core/wire/v5.h"

#include <array>

namespace vof {
namespace {

constexpr uint16_t kNoOpcode = 0xffff;

struct OpcodeRow {
  CommandKind kind;
  uint16_t opcode;
};
constexpr std::array kOpcodes = {
    OpcodeRow{CommandKind::kConnect, v5::opcode::kConnect},
    OpcodeRow{CommandKind::kDisconnect, v5::opcode::kDisconnect},
    OpcodeRow{CommandKind::kKeepalive, v5::opcode::kKeepalive},
    OpcodeRow{CommandKind::kGetFeature, v5::opcode::kGetFeature},
    OpcodeRow{CommandKind::kSetFeature, v5::opcode::kSetFeature},
    OpcodeRow{CommandKind::kGetKeyedNumDescs, v5::opcode::kGetKeyedNumDescs},
    OpcodeRow{CommandKind::kGetKeyedEagerBuf, v5::opcode::kGetKeyedEagerBuf},
    OpcodeRow{CommandKind::kVqKeyedEagerBuf, v5::opcode::kVqKeyedEagerBuf},
    OpcodeRow{CommandKind::kVq, v5::opcode::kVq},
    OpcodeRow{CommandKind::kGetVendorId, v5::opcode::kGetVendorId},
    OpcodeRow{CommandKind::kGetDeviceId, v5::opcode::kGetDeviceId},
    OpcodeRow{CommandKind::kResetDevice, v5::opcode::kResetDevice},
    OpcodeRow{CommandKind::kGetStatus, v5::opcode::kGetStatus},
    OpcodeRow{CommandKind::kSetStatus, v5::opcode::kSetStatus},
    OpcodeRow{CommandKind::kGetDeviceFeature, v5::opcode::kGetDeviceFeature},
    OpcodeRow{CommandKind::kSetDriverFeature, v5::opcode::kSetDriverFeature},
    OpcodeRow{CommandKind::kGetVqSize, v5::opcode::kGetVqSize},
    OpcodeRow{CommandKind::kGetConfig, v5::opcode::kGetConfig},
    OpcodeRow{CommandKind::kSetConfig, v5::opcode::kSetConfig},
    OpcodeRow{CommandKind::kGetNumQueues, v5::opcode::kGetNumQueues},
};

struct CauseRow {
  Cause cause;
  uint16_t status;
  std::string_view name;
};
// When a status has several causes, the first row is how a received one is read. A block device is
// exclusive by default, so that ENODEV means "in use" far more often than "at a limit".
constexpr std::array kCauses = {
    CauseRow{Cause::kOk, v5::status::kSuccess, "success"},
    CauseRow{Cause::kUnknownCommand, v5::status::kEnocmd, "ENOCMD"},
    CauseRow{Cause::kTooManyCommands, v5::status::kEcmdquot, "ECMDQUOT"},
    CauseRow{Cause::kUnknownName, v5::status::kEnotgt, "ENOTGT"},
    CauseRow{Cause::kExclusiveUse, v5::status::kEnodev, "ENODEV"},
    CauseRow{Cause::kLimit, v5::status::kEnodev, "ENODEV"},
    CauseRow{Cause::kAccess, v5::status::kEaclrejected, "EACLREJECTED"},
    CauseRow{Cause::kNoInstance, v5::status::kEbaddev, "EBADDEV"},
    CauseRow{Cause::kNamesDiffer, v5::status::kEbadvqn, "EBADVQN"},
    CauseRow{Cause::kQueueIndex, v5::status::kEqueuequot, "EQUEUEQUOT"},
    CauseRow{Cause::kQueueBusy, v5::status::kEqueuebusy, "EQUEUEBUSY"},
    CauseRow{Cause::kQueueSize, v5::status::kEqsizequot, "EQSIZEQUOT"},
    CauseRow{Cause::kFeature, v5::status::kEfeature, "EFEATURE"},
    CauseRow{Cause::kStatus, v5::status::kEstatus, "ESTATUS"},
    CauseRow{Cause::kDeviceFeature, v5::status::kEdevfeature, "EDEVFEATURE"},
    CauseRow{Cause::kConfigOffset, v5::status::kEconfoff, "ECONFOFF"},
    CauseRow{Cause::kConfigBytes, v5::status::kEconfbytes, "ECONFBYTES"},
    CauseRow{Cause::kOutLength, v5::status::kEoutvqbuf, "EOUTVQBUF"},
    CauseRow{Cause::kInLength, v5::status::kEinvqbuf, "EINVQBUF"},
};

// One Load/Store pair per structure: between the bytes of its body and the neutral form.

void Load(const v5::PlainCommand&, Command&) {}
void Store(const Command&, v5::PlainCommand&) {}

void Load(const v5::ConnectCommand& wire, Command& command) {
  command.instance_id = wire.instance_id;
  command.queue_index = wire.vq_index;
  command.body_length = wire.body_length;
  command.queue_size = wire.queue_size;
}
void Store(const Command& command, v5::ConnectCommand& wire) {
  wire.instance_id = command.instance_id;
  wire.vq_index = command.queue_index;
  wire.body_length = command.body_length;
  wire.queue_size = command.queue_size;
}

void Load(const v5::KeepaliveCommand& wire, Command& command) {
  command.interval_ms = wire.interval_ms;
}
void Store(const Command& command, v5::KeepaliveCommand& wire) {
  wire.interval_ms = command.interval_ms;
}

void Load(const v5::GetFeatureCommand& wire, Command& command) { command.select = wire.select; }
void Store(const Command& command, v5::GetFeatureCommand& wire) { wire.select = command.select; }

void Load(const v5::SetFeatureCommand& wire, Command& command) {
  command.select = wire.select;
  command.value = wire.value;
}
void Store(const Command& command, v5::SetFeatureCommand& wire) {
  wire.select = command.select;
  wire.value = command.value;
}

void Load(const v5::GetKeyedEagerBufCommand& wire, Command& command) {
  command.queue_index = wire.vq_index;
  command.descs = wire.descs;
}
void Store(const Command& command, v5::GetKeyedEagerBufCommand& wire) {
  wire.vq_index = command.queue_index;
  wire.descs = command.descs;
}

void Load(const v5::VqKeyedEagerBufCommand& wire, Command& command) {
  command.out_offset = wire.out_offset;
  command.out_length = wire.out_length;
  command.in_length = wire.in_length;
}
void Store(const Command& command, v5::VqKeyedEagerBufCommand& wire) {
  wire.out_offset = command.out_offset;
  wire.out_length = command.out_length;
  wire.in_length = command.in_length;
}

void Load(const v5::SetStatusCommand& wire, Command& command) { command.value = wire.status; }
void Store(const Command& command, v5::SetStatusCommand& wire) {
  wire.status = static_cast<uint32_t>(command.value);
}

void Load(const v5::GetVqSizeCommand& wire, Command& command) {
  command.queue_index = wire.vq_index;
}
void Store(const Command& command, v5::GetVqSizeCommand& wire) {
  wire.vq_index = command.queue_index;
}

void Load(const v5::GetConfigCommand& wire, Command& command) {
  command.offset = wire.offset;
  command.bytes = wire.bytes;
}
void Store(const Command& command, v5::GetConfigCommand& wire) {
  wire.offset = command.offset;
  wire.bytes = command.bytes;
}

void Load(const v5::SetConfigCommand& wire, Command& command) {
  command.offset = wire.offset;
  command.bytes = wire.bytes;
  command.value = wire.value;
}
void Store(const Command& command, v5::SetConfigCommand& wire) {
  wire.offset = command.offset;
  wire.bytes = command.bytes;
  wire.value = command.value;
}

void Load(const v5::PlainCompletion&, Completion&) {}
void Store(const Completion&, v5::PlainCompletion&) {}

void Load(const v5::ConnectCompletion& wire, Completion& completion) {
  completion.instance_id = wire.instance_id;
  completion.epoch = wire.epoch;
}
void Store(const Completion& completion, v5::ConnectCompletion& wire) {
  wire.instance_id = completion.instance_id;
  wire.epoch = completion.epoch;
}

void Load(const v5::DescsCompletion& wire, Completion& completion) {
  completion.value = wire.descs;
}
void Store(const Completion& completion, v5::DescsCompletion& wire) {
  wire.descs = static_cast<uint8_t>(completion.value);
}

void Load(const v5::Value16Completion& wire, Completion& completion) {
  completion.value = wire.value;
}
void Store(const Completion& completion, v5::Value16Completion& wire) {
  wire.value = static_cast<uint16_t>(completion.value);
}

void Load(const v5::Value32Completion& wire, Completion& completion) {
  completion.value = wire.value;
}
void Store(const Completion& completion, v5::Value32Completion& wire) {
  wire.value = static_cast<uint32_t>(completion.value);
}

void Load(const v5::Value64Completion& wire, Completion& completion) {
  completion.value = wire.value;
}
void Store(const Completion& completion, v5::Value64Completion& wire) {
  wire.value = completion.value;
}

void Load(const v5::ConfigCompletion& wire, Completion& completion) {
  completion.generation = wire.generation;
  completion.value = wire.value;
}
void Store(const Completion& completion, v5::ConfigCompletion& wire) {
  wire.generation = completion.generation;
  wire.value = completion.value;
}

void Load(const v5::VqKeyedEagerBufCompletion& wire, Completion& completion) {
  completion.used_length = wire.length;
  completion.grant = wire.grant;
}
void Store(const Completion& completion, v5::VqKeyedEagerBufCompletion& wire) {
  wire.length = completion.used_length;
  wire.grant = completion.grant;
}

// Calls `visit` with a zeroed object of the structure that commands of this kind travel as.
template <typename Visitor>
void VisitCommandLayout(CommandKind kind, Visitor visit) {
  switch (kind) {
    case CommandKind::kConnect:
      return visit(v5::ConnectCommand{});
    case CommandKind::kKeepalive:
      return visit(v5::KeepaliveCommand{});
    case CommandKind::kGetFeature:
    case CommandKind::kGetDeviceFeature:
      return visit(v5::GetFeatureCommand{});
    case CommandKind::kSetFeature:
    case CommandKind::kSetDriverFeature:
      return visit(v5::SetFeatureCommand{});
    case CommandKind::kGetKeyedEagerBuf:
      return visit(v5::GetKeyedEagerBufCommand{});
    case CommandKind::kVqKeyedEagerBuf:
      return visit(v5::VqKeyedEagerBufCommand{});
    case CommandKind::kSetStatus:
      return visit(v5::SetStatusCommand{});
    case CommandKind::kGetVqSize:
      return visit(v5::GetVqSizeCommand{});
    case CommandKind::kGetConfig:
      return visit(v5::GetConfigCommand{});
    case CommandKind::kSetConfig:
      return visit(v5::SetConfigCommand{});
    default:
      return visit(v5::PlainCommand{});
  }
}

template <typename Visitor>
void VisitCompletionLayout(CommandKind kind, Visitor visit) {
  switch (kind) {
    case CommandKind::kConnect:
      return visit(v5::ConnectCompletion{});
    case CommandKind::kGetKeyedNumDescs:
    case CommandKind::kGetKeyedEagerBuf:
      return visit(v5::DescsCompletion{});
    case CommandKind::kVqKeyedEagerBuf:
      return visit(v5::VqKeyedEagerBufCompletion{});
    case CommandKind::kGetVqSize:
    case CommandKind::kGetNumQueues:
      return visit(v5::Value16Completion{});
    case CommandKind::kGetVendorId:
    case CommandKind::kGetDeviceId:
    case CommandKind::kGetStatus:
      return visit(v5::Value32Completion{});
    case CommandKind::kGetFeature:
    case CommandKind::kGetDeviceFeature:
      return visit(v5::Value64Completion{});
    case CommandKind::kGetConfig:
      return visit(v5::ConfigCompletion{});
    default:
      return visit(v5::PlainCompletion{});
  }
}

}  // namespace

WireError V5::DecodeOtherCommand(HeaderIn in, Command& command) {
  const auto header = ReadStruct<v5::CommandHeader>(in);
  command = Command{};
  command.kind = CommandKindOf(header.opcode);
  command.opcode = header.opcode;
  command.command_id = header.command_id;
  VisitCommandLayout(command.kind,
                     [&](auto layout) { Load(ReadStruct<decltype(layout)>(in), command); });
  if (command.kind == CommandKind::kConnect && command.body_length != 0 &&
      command.body_length != kConnectBodyBytes) {
    return WireError::kConnectLength;
  }
  return CheckCommandId(command);
}

void V5::EncodeOtherCommand(const Command& command, HeaderOut out) {
  VisitCommandLayout(command.kind, [&](auto wire) {
    wire.header.opcode =
        command.kind == CommandKind::kUnknown ? command.opcode : OpcodeOf(command.kind);
    wire.header.command_id = command.command_id;
    Store(command, wire);
    WriteStruct(wire, out);
  });
}

void V5::EncodeOtherCompletion(CommandKind kind, const Completion& completion, HeaderOut out) {
  VisitCompletionLayout(kind, [&](auto wire) {
    wire.header.status = ToWire(completion.cause);
    wire.header.command_id = completion.command_id;
    Store(completion, wire);
    WriteStruct(wire, out);
  });
}

Completion V5::DecodeOtherCompletion(CommandKind kind, HeaderIn in) {
  const auto header = ReadStruct<v5::CompletionHeader>(in);
  Completion completion;
  completion.status = header.status;
  completion.cause = FromWire(header.status);
  completion.command_id = header.command_id;
  VisitCompletionLayout(kind,
                        [&](auto layout) { Load(ReadStruct<decltype(layout)>(in), completion); });
  return completion;
}

uint16_t V5::FailureToWire(Cause cause) {
  for (const CauseRow& row : kCauses) {
    if (row.cause == cause) return row.status;
  }
  return v5::status::kEnodev;  // kUnknown is never sent on purpose; it must not read as success
}

Cause V5::FailureFromWire(uint16_t status) {
  for (const CauseRow& row : kCauses) {
    if (row.status == status) return row.cause;
  }
  return Cause::kUnknown;
}

std::string_view V5::StatusName(uint16_t status) {
  for (const CauseRow& row : kCauses) {
    if (row.status == status) return row.name;
  }
  return "unknown";
}

CommandKind V5::CommandKindOf(uint16_t opcode) {
  for (const OpcodeRow& row : kOpcodes) {
    if (row.opcode == opcode) return row.kind;
  }
  return CommandKind::kUnknown;
}

uint16_t V5::OpcodeOf(CommandKind kind) {
  for (const OpcodeRow& row : kOpcodes) {
    if (row.kind == kind) return row.opcode;
  }
  return kNoOpcode;
}

}  // namespace vof
