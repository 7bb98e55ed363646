// SPDX-License-Identifier: Apache-2.0
#include "core/wire/ref.h"

#include <string>
#include <vector>

#include "core/wire/test_bytes.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

// Bytes that mean something: the header and ...
constexpr std::string_view kNothing = "ffffffff 00000000 00000000 00000000";
constexpr std::string_view kByte8 = "ffffffff 00000000 ff000000 00000000";
constexpr std::string_view kBytes4To5 = "ffffffff ffff0000 00000000 00000000";
constexpr std::string_view kBytes4To6 = "ffffffff ffffff00 00000000 00000000";
constexpr std::string_view kBytes4To7 = "ffffffff ffffffff 00000000 00000000";
constexpr std::string_view kBytes8To9 = "ffffffff 00000000 ffff0000 00000000";
constexpr std::string_view kBytes8To11 = "ffffffff 00000000 ffffffff 00000000";
constexpr std::string_view kBytes8To15 = "ffffffff 00000000 ffffffff ffffffff";
constexpr std::string_view kEverything = "ffffffff ffffffff ffffffff ffffffff";

using K = CommandKind;

constexpr CommandCase kCommands[] = {
    {"connect",
     {.kind = K::kConnect,
      .command_id = 0x0102,
      .instance_id = 0xffff,
      .queue_index = 0x0304,
      .body_length = 1024,
      .ndesc = 1},
     "0000 0201 ffff 0403 0100 00 00 00000000",
     "ffff ffff ffff ffff ffff ff 00 00000000"},
    {"connect, keyed",
     {.kind = K::kConnect,
      .command_id = 1,
      .instance_id = 2,
      .body_length = 1024,
      .transmission = Transmission::kKeyed,
      .ndesc = 1},
     "0000 0100 0200 0000 0100 01 00 00000000",
     "ffff ffff ffff ffff ffff ff 00 00000000"},
    {"disconnect",
     {.kind = K::kDisconnect, .command_id = 0xff01},
     "0100 01ff 00000000 00000000 00000000",
     kNothing},
    {"keepalive",
     {.kind = K::kKeepalive, .command_id = 2},
     "0200 0200 00000000 00000000 00000000",
     kNothing},
    {"get_feature",
     {.kind = K::kGetFeature, .command_id = 3, .select = 0x0201},
     "0300 0300 01020000 00000000 00000000",
     kBytes4To7},
    {"set_feature",
     {.kind = K::kSetFeature, .command_id = 4, .select = 1, .value = 0x0102030405060708},
     "0400 0400 01000000 08070605 04030201",
     kEverything},
    {"get_vendor_id",
     {.kind = K::kGetVendorId, .command_id = 5},
     "0010 0500 00000000 00000000 00000000",
     kNothing},
    {"get_device_id",
     {.kind = K::kGetDeviceId, .command_id = 6},
     "0110 0600 00000000 00000000 00000000",
     kNothing},
    {"get_generation",
     {.kind = K::kGetGeneration, .command_id = 7},
     "0210 0700 00000000 00000000 00000000",
     kNothing},
    {"get_status",
     {.kind = K::kGetStatus, .command_id = 8},
     "0310 0800 00000000 00000000 00000000",
     kNothing},
    {"set_status",
     {.kind = K::kSetStatus, .command_id = 9, .value = 0x80000007},
     "0410 0900 07000080 00000000 00000000",
     kBytes4To7},
    {"get_device_feature",
     {.kind = K::kGetDeviceFeature, .command_id = 10, .select = 1},
     "0510 0a00 01000000 00000000 00000000",
     kBytes4To7},
    {"set_driver_feature",
     {.kind = K::kSetDriverFeature, .command_id = 11, .select = 2, .value = 0x1006},
     "0610 0b00 02000000 06100000 00000000",
     kEverything},
    {"get_num_queues",
     {.kind = K::kGetNumQueues, .command_id = 12},
     "0710 0c00 00000000 00000000 00000000",
     kNothing},
    {"get_queue_size",
     {.kind = K::kGetVqSize, .command_id = 13, .queue_index = 0x1234},
     "0810 0d00 3412 0000 00000000 00000000",
     kBytes4To5},
    {"set_queue_size",
     {.kind = K::kSetVqSize, .command_id = 14, .queue_index = 1, .value = 256},
     "0910 0e00 0100 0000 00010000 00000000",
     "ffff ffff ffff 0000 ffffffff ffffffff"},
    {"get_config",
     {.kind = K::kGetConfig, .command_id = 15, .offset = 34, .bytes = 2},
     "0a10 0f00 2200 02 00 00000000 00000000",
     kBytes4To6},
    {"set_config",
     {.kind = K::kSetConfig,
      .command_id = 16,
      .value = 0x1122334455667788,
      .offset = 32,
      .bytes = 8},
     "0b10 1000 2000 08 00 88776655 44332211",
     "ffff ffff ffff ff 00 ffffffff ffffffff"},
    {"get_config_changed",
     {.kind = K::kGetConfigChanged, .command_id = 17},
     "0c10 1100 00000000 00000000 00000000",
     kNothing},
    {"vring",
     {.kind = K::kVq, .command_id = 0xff02, .ndesc = 0x0103},
     "0020 02ff 00000000 0301 0000 00000000",
     "ffff ffff 00000000 ffff 0000 00000000"},
};

constexpr CompletionCase kCompletions[] = {
    {"connect",
     K::kConnect,
     {.command_id = 0x0102, .instance_id = 0x0708},
     "0000 0201 0000 0000 08070000 00000000",
     kBytes8To9},
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
     {.command_id = 3, .value = 0x0102030405060708},
     "0000 0300 00000000 08070605 04030201",
     kBytes8To15},
    {"get_vendor_id",
     K::kGetVendorId,
     {.command_id = 4, .value = 0x56544754},
     "0000 0400 00000000 54475456 00000000",
     kBytes8To11},
    {"get_device_id",
     K::kGetDeviceId,
     {.command_id = 5, .value = 2},
     "0000 0500 00000000 02000000 00000000",
     kBytes8To11},
    {"get_generation",
     K::kGetGeneration,
     {.command_id = 6, .value = 0x01020304},
     "0000 0600 00000000 04030201 00000000",
     kBytes8To11},
    {"get_status",
     K::kGetStatus,
     {.command_id = 7, .value = 7},
     "0000 0700 00000000 07000000 00000000",
     kBytes8To11},
    {"set_status",
     K::kSetStatus,
     {.command_id = 8},
     "0000 0800 00000000 00000000 00000000",
     kNothing},
    {"get_device_feature",
     K::kGetDeviceFeature,
     {.command_id = 9, .value = 0x0102030405060708},
     "0000 0900 00000000 08070605 04030201",
     kBytes8To15},
    {"get_num_queues",
     K::kGetNumQueues,
     {.command_id = 10, .value = 0x0102},
     "0000 0a00 00000000 02010000 00000000",
     kBytes8To9},
    {"get_queue_size",
     K::kGetVqSize,
     {.command_id = 11, .value = 1024},
     "0000 0b00 00000000 00040000 00000000",
     kBytes8To9},
    {"get_config",
     K::kGetConfig,
     {.command_id = 12, .value = 0x8877665544332211},
     "0000 0c00 00000000 11223344 55667788",
     kBytes8To15},
    {"get_config_changed",
     K::kGetConfigChanged,
     {.command_id = 13, .value = 1},
     "0000 0d00 00000000 01000000 00000000",
     kByte8},
    {"vring",
     K::kVq,
     {.command_id = 14, .used_length = 4097, .ndesc = 0x0102},
     "0000 0e00 0201 0000 01100000 00000000",
     "ffff ffff ffff 0000 ffffffff 00000000"},
    {"refused connect",
     K::kConnect,
     {.cause = Cause::kUnknownName, .command_id = 0},
     "1300 0000 00000000 00000000 00000000",
     kBytes8To9},
    {"failed vring",
     K::kVq,
     {.cause = Cause::kLimit, .command_id = 15, .ndesc = 2},
     "0c00 0f00 0200 0000 00000000 00000000",
     "ffff ffff ffff 0000 ffffffff 00000000"},
    {"unknown command",
     K::kUnknown,
     {.cause = Cause::kUnknownCommand, .command_id = 16},
     "5f00 1000 00000000 00000000 00000000",
     kNothing},
};

TEST(Ref, CommandsHaveTheDocumentedBytes) {
  for (const CommandCase& row : kCommands) CheckCommand<Ref>(row);
}

TEST(Ref, CompletionsHaveTheDocumentedBytes) {
  for (const CompletionCase& row : kCompletions) CheckCompletion<Ref>(row);
}

TEST(Ref, EveryKindThatTheDialectHasIsInTheTable) {
  for (int k = 0; k <= static_cast<int>(CommandKind::kGetConfigChanged); ++k) {
    const auto kind = static_cast<CommandKind>(k);
    if (kind == CommandKind::kResetDevice) continue;  // its own test, below
    const uint16_t opcode = Ref::OpcodeOf(kind);
    bool covered = false;
    for (const CommandCase& row : kCommands) covered |= row.command.kind == kind;
    EXPECT_EQ(covered, opcode != 0xffff) << CommandKindName(kind);
    if (!covered) continue;
    EXPECT_EQ(Ref::CommandKindOf(opcode), kind) << CommandKindName(kind);
  }
}

TEST(Ref, ResetIsSetStatusZero) {
  Header out;
  Ref::EncodeCommand({.kind = CommandKind::kResetDevice, .command_id = 3, .value = 9}, out);
  EXPECT_EQ(Hex(out), "04100300000000000000000000000000");
  Command command;
  EXPECT_EQ(Ref::DecodeCommand(out, command), WireError::kNone);
  EXPECT_EQ(command.kind, CommandKind::kSetStatus);
  EXPECT_EQ(command.value, 0u);
}

TEST(Ref, UnknownOpcodeIsNoError) {
  for (const char* hex : {"34120500 ffffffff ffffffff ffffffff",     // nobody's
                          "ff0f0500 ffffffff ffffffff ffffffff",     // `v5` vq
                          "05000500 ffffffff ffffffff ffffffff"}) {  // `v5` set_feature
    Command command;
    EXPECT_EQ(Ref::DecodeCommand(HeaderOf(hex), command), WireError::kNone) << hex;
    EXPECT_EQ(command.kind, CommandKind::kUnknown) << hex;
    EXPECT_EQ(command.command_id, 5) << hex;
  }
}

TEST(Ref, VringLengthIsIgnoredAndSentAsASum) {
  Header out;
  Ref::EncodeCommand({.kind = CommandKind::kVq, .out_length = 16, .in_length = 4097, .ndesc = 3},
                     out);
  EXPECT_EQ(Hex(out),
            "00200000"
            "11100000"
            "0300000000000000");
  Command command;
  EXPECT_EQ(Ref::DecodeCommand(out, command), WireError::kNone);
  EXPECT_EQ(command.out_length, 0u);
  EXPECT_EQ(command.in_length, 0u);
}

TEST(Ref, VringDescriptorCountIsLimited) {
  static_assert(kMaxSegments == 1100);  // 0x044c
  Command command;
  const auto decode = [&](const char* ndesc) {
    return Ref::DecodeCommand(HeaderOf(std::string("00200100 00000000") + ndesc + "0000 00000000"),
                              command);
  };
  EXPECT_EQ(decode("0000"), WireError::kNoDescriptors);
  EXPECT_EQ(decode("0100"), WireError::kNone);
  EXPECT_EQ(decode("4c04"), WireError::kNone);
  EXPECT_EQ(decode("4d04"), WireError::kTooManyDescriptors);
  EXPECT_EQ(decode("ffff"), WireError::kTooManyDescriptors);
}

TEST(Ref, ConnectHasOneDescriptorAndAKnownTransmission) {
  Command command;
  const auto decode = [&](const char* ndesc_and_oftype) {
    return Ref::DecodeCommand(
        HeaderOf(std::string("00000100 ffff0000") + ndesc_and_oftype + "00 00000000"), command);
  };
  EXPECT_EQ(decode("0100 00"), WireError::kNone);
  EXPECT_EQ(decode("0100 01"), WireError::kNone);
  EXPECT_EQ(decode("0100 02"), WireError::kConnectTransmission);
  EXPECT_EQ(decode("0100 ff"), WireError::kConnectTransmission);
  EXPECT_EQ(decode("0000 00"), WireError::kConnectLength);
  EXPECT_EQ(decode("0200 00"), WireError::kConnectLength);
  EXPECT_EQ(decode("ffff 00"), WireError::kConnectLength);
}

TEST(Ref, StatusOfEveryCause) {
  struct Row {
    Cause cause;
    uint16_t status;
    std::string_view name;
  };
  const Row rows[] = {
      {Cause::kOk, 0, "success"},
      {Cause::kUnknownCommand, 95, "EOPNOTSUPP"},
      {Cause::kTooManyCommands, 12, "ENOMEM"},
      {Cause::kUnknownName, 19, "ENODEV"},
      {Cause::kExclusiveUse, 16, "EBUSY"},
      {Cause::kLimit, 12, "ENOMEM"},
      {Cause::kAccess, 13, "EACCES"},
      {Cause::kNoInstance, 19, "ENODEV"},
      {Cause::kNamesDiffer, 71, "EPROTO"},
      {Cause::kQueueIndex, 44, "ECHRNG"},
      {Cause::kQueueBusy, 16, "EBUSY"},
      {Cause::kQueueSize, 22, "EINVAL"},
      {Cause::kFeature, 22, "EINVAL"},
      {Cause::kStatus, 22, "EINVAL"},
      {Cause::kDeviceFeature, 22, "EINVAL"},
      {Cause::kConfigOffset, 22, "EINVAL"},
      {Cause::kConfigBytes, 22, "EINVAL"},
      {Cause::kOutLength, 5, "EIO"},
      {Cause::kInLength, 5, "EIO"},
      {Cause::kUnknown, 4096, "unknown"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(Ref::ToWire(row.cause), row.status) << row.name;
    EXPECT_EQ(Ref::StatusName(row.status), row.name);
  }
  EXPECT_EQ(Ref::StatusName(34), "ERANGE");
  EXPECT_EQ(Ref::StatusName(110), "ETIMEDOUT");
}

TEST(Ref, ReceivedStatusIsNarrowedByTheCommand) {
  EXPECT_EQ(Ref::FromWire(K::kConnect, 0), Cause::kOk);
  EXPECT_EQ(Ref::FromWire(K::kConnect, 12), Cause::kLimit);
  EXPECT_EQ(Ref::FromWire(K::kConnect, 13), Cause::kAccess);
  EXPECT_EQ(Ref::FromWire(K::kConnect, 16), Cause::kExclusiveUse);
  EXPECT_EQ(Ref::FromWire(K::kConnect, 19), Cause::kUnknownName);
  EXPECT_EQ(Ref::FromWire(K::kConnect, 44), Cause::kQueueIndex);
  EXPECT_EQ(Ref::FromWire(K::kConnect, 71), Cause::kNamesDiffer);
  EXPECT_EQ(Ref::FromWire(K::kSetConfig, 95), Cause::kUnknownCommand);
  EXPECT_EQ(Ref::FromWire(K::kSetFeature, 22), Cause::kFeature);
  EXPECT_EQ(Ref::FromWire(K::kSetStatus, 22), Cause::kStatus);
  EXPECT_EQ(Ref::FromWire(K::kSetDriverFeature, 22), Cause::kDeviceFeature);
  EXPECT_EQ(Ref::FromWire(K::kSetVqSize, 22), Cause::kQueueSize);
  EXPECT_EQ(Ref::FromWire(K::kGetConfig, 22), Cause::kConfigOffset);
  EXPECT_EQ(Ref::FromWire(K::kConnect, 22), Cause::kUnknown);
  EXPECT_EQ(Ref::FromWire(K::kVq, 5), Cause::kUnknown);
  EXPECT_EQ(Ref::FromWire(K::kVq, 4096), Cause::kUnknown);
}

TEST(Ref, SegmentDescriptor) {
  const Segment segment{.address = 0x0102030405060708,
                        .length_bytes = 4096,
                        .key = 0xa1b2c3d4,
                        .id = 0x0506,
                        .writable = true};
  std::vector<std::byte> out(Ref::kDescriptorBytes, std::byte{0xee});
  Ref::EncodeSegment(segment, out);
  EXPECT_EQ(Hex(out),
            "0807060504030201"
            "00100000"
            "0605"
            "0200"
            "d4c3b2a1"
            "00000000");
  EXPECT_TRUE(Ref::DecodeSegment(out) == segment);
}

TEST(Ref, SegmentFlagsButWritableAndPaddingAreIgnored) {
  const auto decode = [](const char* flags, const char* padding) {
    return Ref::DecodeSegment(
        Bytes(std::string("0000000000000000 10000000 0100") + flags + "00000000" + padding));
  };
  const Segment readable{.length_bytes = 16, .id = 1};
  Segment writable = readable;
  writable.writable = true;
  EXPECT_TRUE(decode("0000", "00000000") == readable);
  EXPECT_TRUE(decode("0100", "a5a5a5a5") == readable);
  EXPECT_TRUE(decode("fdff", "00000000") == readable);
  EXPECT_TRUE(decode("0200", "00000000") == writable);
  EXPECT_TRUE(decode("0300", "ffffffff") == writable);
}

}  // namespace
}  // namespace vof
