// SPDX-License-Identifier: Apache-2.0
#include "core/wire/v5.h"

#include <string>
#include <vector>

#include "core/wire/test_bytes.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

// Bytes that mean something: the header and ...
constexpr std::string_view kNothing = "ffffffff 00000000 00000000 00000000";
constexpr std::string_view kByte4 = "ffffffff ff000000 00000000 00000000";
constexpr std::string_view kBytes4To5 = "ffffffff ffff0000 00000000 00000000";
constexpr std::string_view kBytes4To6 = "ffffffff ffffff00 00000000 00000000";
constexpr std::string_view kBytes4To7 = "ffffffff ffffffff 00000000 00000000";
constexpr std::string_view kBytes8To15 = "ffffffff 00000000 ffffffff ffffffff";
constexpr std::string_view kEverything = "ffffffff ffffffff ffffffff ffffffff";

using K = CommandKind;

constexpr CommandCase kCommands[] = {
    {"connect",
     {.kind = K::kConnect,
      .command_id = 0x0102,
      .instance_id = 0xffff,
      .queue_index = 0x0304,
      .queue_size = 0x0080,
      .body_length = 1024},
     "0000 0201 ffff 0403 00040000 8000 0000",
     "ffff ffff ffff ffff ffffffff ffff 0000"},
    {"connect without body",
     {.kind = K::kConnect, .command_id = 1, .instance_id = 5, .queue_index = 2},
     "0000 0100 0500 0200 00000000 0000 0000",
     "ffff ffff ffff ffff ffffffff ffff 0000"},
    {"disconnect",
     {.kind = K::kDisconnect, .command_id = 0xfeff},
     "0100 fffe 00000000 00000000 00000000",
     kNothing},
    {"keepalive",
     {.kind = K::kKeepalive, .command_id = 2, .interval_ms = 5000},
     "0200 0200 88130000 00000000 00000000",
     kBytes4To7},
    {"get_feature",
     {.kind = K::kGetFeature, .command_id = 3, .select = 0x101},
     "0400 0300 01010000 00000000 00000000",
     kBytes4To7},
    {"set_feature",
     {.kind = K::kSetFeature,
      .command_id = 4,
      .select = 7,
      .value = transport_feature::kCredit | 1},
     "0500 0400 07000000 01000000 01000000",
     kEverything},
    {"get_keyed_num_descs",
     {.kind = K::kGetKeyedNumDescs, .command_id = 5},
     "0001 0500 00000000 00000000 00000000",
     kNothing},
    {"get_keyed_eager_buf",
     {.kind = K::kGetKeyedEagerBuf, .command_id = 6, .queue_index = 0x0a0b, .descs = 12},
     "0201 0600 0b0a 0c 00 00000000 00000000",
     kBytes4To6},
    {"vq_keyed_eager_buf",
     {.kind = K::kVqKeyedEagerBuf,
      .command_id = 7,
      .out_length = 0x01020304,
      .in_length = 0x05060708,
      .out_offset = 0x090a0b0c},
     "fe0f 0700 0c0b0a09 04030201 08070605",
     kEverything},
    {"vq",
     {.kind = K::kVq, .command_id = 8, .out_length = 16, .in_length = 4097},
     "ff0f 0800 00000000 10000000 01100000",
     kBytes8To15},
    {"get_vendor_id",
     {.kind = K::kGetVendorId, .command_id = 9},
     "0010 0900 00000000 00000000 00000000",
     kNothing},
    {"get_device_id",
     {.kind = K::kGetDeviceId, .command_id = 10},
     "0110 0a00 00000000 00000000 00000000",
     kNothing},
    {"reset_device",
     {.kind = K::kResetDevice, .command_id = 11},
     "0310 0b00 00000000 00000000 00000000",
     kNothing},
    {"get_status",
     {.kind = K::kGetStatus, .command_id = 12},
     "0410 0c00 00000000 00000000 00000000",
     kNothing},
    {"set_status",
     {.kind = K::kSetStatus, .command_id = 13, .value = 0x8000000f},
     "0510 0d00 0f000080 00000000 00000000",
     kBytes4To7},
    {"get_device_feature",
     {.kind = K::kGetDeviceFeature, .command_id = 14, .select = 1},
     "0610 0e00 01000000 00000000 00000000",
     kBytes4To7},
    {"set_driver_feature",
     {.kind = K::kSetDriverFeature, .command_id = 15, .select = 0, .value = 0x0102030405060708},
     "0910 0f00 00000000 08070605 04030201",
     kEverything},
    {"get_vq_size",
     {.kind = K::kGetVqSize, .command_id = 16, .queue_index = 0x1234},
     "0a10 1000 3412 0000 00000000 00000000",
     kBytes4To5},
    {"get_config",
     {.kind = K::kGetConfig, .command_id = 17, .offset = 0x0122, .bytes = 2},
     "0c10 1100 2201 02 00 00000000 00000000",
     kBytes4To6},
    {"set_config",
     {.kind = K::kSetConfig,
      .command_id = 18,
      .value = 0x1122334455667788,
      .offset = 32,
      .bytes = 1},
     "0d10 1200 2000 01 00 88776655 44332211",
     "ffff ffff ffff ff 00 ffffffff ffffffff"},
    {"get_num_queues",
     {.kind = K::kGetNumQueues, .command_id = 19},
     "0002 1300 00000000 00000000 00000000",
     kNothing},
};

constexpr CompletionCase kCompletions[] = {
    {"connect",
     K::kConnect,
     {.command_id = 0x0102, .instance_id = 7, .epoch = 0x1112131415161718},
     "0000 0201 0700 0000 18171615 14131211",
     "ffff ffff ffff 0000 ffffffff ffffffff"},
    {"disconnect",
     K::kDisconnect,
     {.command_id = 1},
     "0000 0100 00000000 00000000 00000000",
     kNothing},
    {"keepalive",
     K::kKeepalive,
     {.command_id = 2},
     "0000 0200 00000000 00000000 00000000",
     kNothing},
    {"get_feature",
     K::kGetFeature,
     {.command_id = 3, .value = 0x0000000900000003},
     "0000 0300 00000000 03000000 09000000",
     kBytes8To15},
    {"set_feature",
     K::kSetFeature,
     {.command_id = 4},
     "0000 0400 00000000 00000000 00000000",
     kNothing},
    {"get_keyed_num_descs",
     K::kGetKeyedNumDescs,
     {.command_id = 5, .value = 255},
     "0000 0500 ff000000 00000000 00000000",
     kByte4},
    {"get_keyed_eager_buf",
     K::kGetKeyedEagerBuf,
     {.command_id = 6, .value = 3},
     "0000 0600 03000000 00000000 00000000",
     kByte4},
    {"vq_keyed_eager_buf",
     K::kVqKeyedEagerBuf,
     {.command_id = 7, .used_length = 0x01020304, .grant = 0x0506},
     "0000 0700 04030201 0605 0000 00000000",
     "ffff ffff ffffffff ffff 0000 00000000"},
    {"vq",
     K::kVq,
     {.command_id = 8, .used_length = 4097, .inline_length = 0x1020304, .grant = 0x0201},
     "0000 0800 0102 0000 01100000 04030201",
     "ffff ffff ffff 0000 ffffffff ffffffff"},
    {"get_vendor_id",
     K::kGetVendorId,
     {.command_id = 9, .value = 0x56544754},
     "0000 0900 54475456 00000000 00000000",
     kBytes4To7},
    {"get_device_id",
     K::kGetDeviceId,
     {.command_id = 10, .value = 2},
     "0000 0a00 02000000 00000000 00000000",
     kBytes4To7},
    {"reset_device",
     K::kResetDevice,
     {.command_id = 11},
     "0000 0b00 00000000 00000000 00000000",
     kNothing},
    {"get_status",
     K::kGetStatus,
     {.command_id = 12, .value = 0x0f},
     "0000 0c00 0f000000 00000000 00000000",
     kBytes4To7},
    {"get_device_feature",
     K::kGetDeviceFeature,
     {.command_id = 13, .value = 0x0102030405060708},
     "0000 0d00 00000000 08070605 04030201",
     kBytes8To15},
    {"get_vq_size",
     K::kGetVqSize,
     {.command_id = 14, .value = 4096},
     "0000 0e00 0010 0000 00000000 00000000",
     kBytes4To5},
    {"get_config",
     K::kGetConfig,
     {.command_id = 15, .value = 0x8877665544332211, .generation = 0x0a0b0c0d},
     "0000 0f00 0d0c0b0a 11223344 55667788",
     kEverything},
    {"get_num_queues",
     K::kGetNumQueues,
     {.command_id = 16, .value = 0x0102},
     "0000 1000 0201 0000 00000000 00000000",
     kBytes4To5},
    {"refused connect",
     K::kConnect,
     {.cause = Cause::kUnknownName, .command_id = 17},
     "0110 1100 00000000 00000000 00000000",
     "ffff ffff ffff 0000 ffffffff ffffffff"},
    {"failed vq hands its credit back",
     K::kVq,
     {.cause = Cause::kOutLength, .command_id = 18, .grant = 1},
     "f020 1200 0100 0000 00000000 00000000",
     "ffff ffff ffff 0000 ffffffff ffffffff"},
    {"unknown command",
     K::kUnknown,
     {.cause = Cause::kUnknownCommand, .command_id = 19},
     "0100 1300 00000000 00000000 00000000",
     kNothing},
    {"credit event",
     K::kVq,
     {.command_id = kEventCredit, .grant = 3},
     "0000 fdff 0300 0000 00000000 00000000",
     "ffff ffff ffff 0000 ffffffff ffffffff"},
    {"configuration event",
     K::kGetConfig,
     {.command_id = kEventConfigChanged, .generation = 9},
     "0000 feff 09000000 00000000 00000000",
     kEverything},
    {"keepalive event",
     K::kUnknown,
     {.command_id = kEventKeepalive},
     "0000 ffff 00000000 00000000 00000000",
     kNothing},
};

TEST(V5, CommandsHaveTheDocumentedBytes) {
  for (const CommandCase& row : kCommands) CheckCommand<V5>(row);
}

TEST(V5, CompletionsHaveTheDocumentedBytes) {
  for (const CompletionCase& row : kCompletions) CheckCompletion<V5>(row);
}

TEST(V5, EveryKindThatTheDialectHasIsInTheTable) {
  for (int k = 0; k <= static_cast<int>(CommandKind::kGetConfigChanged); ++k) {
    const auto kind = static_cast<CommandKind>(k);
    const uint16_t opcode = V5::OpcodeOf(kind);
    bool covered = false;
    for (const CommandCase& row : kCommands) covered |= row.command.kind == kind;
    EXPECT_EQ(covered, opcode != 0xffff) << CommandKindName(kind);
    if (!covered) continue;
    EXPECT_EQ(V5::CommandKindOf(opcode), kind) << CommandKindName(kind);
  }
}

TEST(V5, UnknownOpcodeIsNoError) {
  for (const char* hex : {"34120500 ffffffff ffffffff ffffffff",     // nobody's
                          "00200500 ffffffff ffffffff ffffffff",     // `ref` vring
                          "03000500 ffffffff ffffffff ffffffff",     // `ref` get_feature
                          "02100500 ffffffff ffffffff ffffffff"}) {  // `ref` get_generation
    Command command;
    EXPECT_EQ(V5::DecodeCommand(HeaderOf(hex), command), WireError::kNone) << hex;
    EXPECT_EQ(command.kind, CommandKind::kUnknown) << hex;
    EXPECT_EQ(command.command_id, 5) << hex;
    EXPECT_EQ(command.value, 0u) << hex;
  }
  Header out;
  V5::EncodeCommand({.kind = CommandKind::kUnknown, .opcode = 0x1234, .command_id = 5}, out);
  EXPECT_EQ(Hex(out), "34120500000000000000000000000000");
}

TEST(V5, KindOfTheOtherDialectGoesOutAsAnUnknownOpcode) {
  Header out;
  V5::EncodeCommand({.kind = CommandKind::kGetGeneration, .command_id = 5}, out);
  EXPECT_EQ(Hex(out), "ffff0500000000000000000000000000");
  EXPECT_EQ(V5::CommandKindOf(0xffff), CommandKind::kUnknown);
}

TEST(V5, ReservedCommandIdsNameNoCommand) {
  Command command;
  for (const char* opcode : {"ff0f", "0000", "0200", "3412"}) {
    const auto with_id = [&](const char* id) {
      return HeaderOf(std::string(opcode) + id + "00000000 00000000 00000000");
    };
    EXPECT_EQ(V5::DecodeCommand(with_id("fffe"), command), WireError::kNone);
    EXPECT_EQ(V5::DecodeCommand(with_id("00ff"), command), WireError::kReservedCommandId);
    EXPECT_EQ(V5::DecodeCommand(with_id("ffff"), command), WireError::kReservedCommandId);
  }
}

TEST(V5, ConnectBodyIsAbsentOrWhole) {
  Command command;
  for (const char* length : {"01000000", "ff030000", "01040000", "00040100", "ffffffff"}) {
    const Header wire = HeaderOf(std::string("00000100 ffff0000") + length + "00000000");
    EXPECT_EQ(V5::DecodeCommand(wire, command), WireError::kConnectLength) << length;
  }
}

TEST(V5, OddConfigurationAccessIsForTheEngineToAnswer) {
  Command command;
  EXPECT_EQ(V5::DecodeCommand(HeaderOf("0c100100 00000300 00000000 00000000"), command),
            WireError::kNone);
  EXPECT_EQ(command.bytes, 3);
}

TEST(V5, StatusOfEveryCause) {
  struct Row {
    Cause cause;
    uint16_t status;
    std::string_view name;
  };
  const Row rows[] = {
      {Cause::kOk, 0, "success"},
      {Cause::kUnknownCommand, 0x0001, "ENOCMD"},
      {Cause::kTooManyCommands, 0x0002, "ECMDQUOT"},
      {Cause::kUnknownName, 0x1001, "ENOTGT"},
      {Cause::kExclusiveUse, 0x1002, "ENODEV"},
      {Cause::kAccess, 0x1003, "EACLREJECTED"},
      {Cause::kNoInstance, 0x1010, "EBADDEV"},
      {Cause::kNamesDiffer, 0x1011, "EBADVQN"},
      {Cause::kQueueIndex, 0x1020, "EQUEUEQUOT"},
      {Cause::kQueueBusy, 0x1021, "EQUEUEBUSY"},
      {Cause::kQueueSize, 0x1022, "EQSIZEQUOT"},
      {Cause::kFeature, 0x2000, "EFEATURE"},
      {Cause::kStatus, 0x2010, "ESTATUS"},
      {Cause::kDeviceFeature, 0x2020, "EDEVFEATURE"},
      {Cause::kConfigOffset, 0x2030, "ECONFOFF"},
      {Cause::kConfigBytes, 0x2031, "ECONFBYTES"},
      {Cause::kOutLength, 0x20f0, "EOUTVQBUF"},
      {Cause::kInLength, 0x20f1, "EINVQBUF"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(V5::ToWire(row.cause), row.status) << row.name;
    EXPECT_EQ(V5::FromWire(row.status), row.cause) << row.name;
    EXPECT_EQ(V5::StatusName(row.status), row.name);
  }
  EXPECT_EQ(V5::ToWire(Cause::kLimit), 0x1002);
  EXPECT_NE(V5::ToWire(Cause::kUnknown), 0);
}

TEST(V5, UnknownStatusKeepsItsNumber) {
  const Completion completion =
      V5::DecodeCompletion(CommandKind::kVq, HeaderOf("34120800 00000000 00000000 00000000"));
  EXPECT_EQ(completion.cause, Cause::kUnknown);
  EXPECT_EQ(completion.status, 0x1234);
  EXPECT_FALSE(completion.ok());
  EXPECT_EQ(V5::StatusName(0x1234), "unknown");
}

TEST(V5, KeyedDescriptor) {
  const Segment segment{.address = 0x0102030405060708, .length_bytes = 4096, .key = 0xa1b2c3d4};
  std::vector<std::byte> out(V5::kDescriptorBytes);
  V5::EncodeSegment(segment, out);
  EXPECT_EQ(Hex(out),
            "0807060504030201"
            "00100000"
            "d4c3b2a1");
  EXPECT_TRUE(V5::DecodeSegment(out) == segment);
}

}  // namespace
}  // namespace vof
