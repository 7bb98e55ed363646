// SPDX-License-Identifier: Apache-2.0
//
// The bytes of the native dialect: opcodes, status values and one structure per body, each with its
// size and offsets asserted. Only the codec (v5.h) and tests that forge bytes need this.
//
//   v5::VqCommand wire{};
//   wire.header.opcode = v5::opcode::kVq;
//   wire.out_length = 16;
//
// Source: docs/protocol.md, "Dialect v5".
#ifndef VOF_CORE_WIRE_V5_LAYOUT_H_
#define VOF_CORE_WIRE_V5_LAYOUT_H_

#include <cstddef>
#include <cstdint>

#include "core/base/little_endian.h"

namespace vof::v5 {

namespace opcode {
inline constexpr uint16_t kConnect = 0x0000;
inline constexpr uint16_t kDisconnect = 0x0001;
inline constexpr uint16_t kKeepalive = 0x0002;
inline constexpr uint16_t kGetFeature = 0x0004;
inline constexpr uint16_t kSetFeature = 0x0005;
inline constexpr uint16_t kGetKeyedNumDescs = 0x0100;
inline constexpr uint16_t kGetKeyedEagerBuf = 0x0102;
inline constexpr uint16_t kGetNumQueues = 0x0200;
inline constexpr uint16_t kVqKeyedEagerBuf = 0x0ffe;
inline constexpr uint16_t kVq = 0x0fff;
inline constexpr uint16_t kGetVendorId = 0x1000;
inline constexpr uint16_t kGetDeviceId = 0x1001;
inline constexpr uint16_t kResetDevice = 0x1003;
inline constexpr uint16_t kGetStatus = 0x1004;
inline constexpr uint16_t kSetStatus = 0x1005;
inline constexpr uint16_t kGetDeviceFeature = 0x1006;
inline constexpr uint16_t kSetDriverFeature = 0x1009;
inline constexpr uint16_t kGetVqSize = 0x100a;
inline constexpr uint16_t kGetConfig = 0x100c;
inline constexpr uint16_t kSetConfig = 0x100d;
}  // namespace opcode

namespace status {
inline constexpr uint16_t kSuccess = 0x0000;
inline constexpr uint16_t kEnocmd = 0x0001;
inline constexpr uint16_t kEcmdquot = 0x0002;
inline constexpr uint16_t kEnotgt = 0x1001;
inline constexpr uint16_t kEnodev = 0x1002;
inline constexpr uint16_t kEaclrejected = 0x1003;
inline constexpr uint16_t kEbaddev = 0x1010;
inline constexpr uint16_t kEbadvqn = 0x1011;
inline constexpr uint16_t kEqueuequot = 0x1020;
inline constexpr uint16_t kEqueuebusy = 0x1021;
inline constexpr uint16_t kEqsizequot = 0x1022;
inline constexpr uint16_t kEfeature = 0x2000;
inline constexpr uint16_t kEstatus = 0x2010;
inline constexpr uint16_t kEdevfeature = 0x2020;
inline constexpr uint16_t kEconfoff = 0x2030;
inline constexpr uint16_t kEconfbytes = 0x2031;
inline constexpr uint16_t kEoutvqbuf = 0x20f0;
inline constexpr uint16_t kEinvqbuf = 0x20f1;
}  // namespace status

struct CommandHeader {
  Le16 opcode;
  Le16 command_id;
};
static_assert(sizeof(CommandHeader) == 4 && offsetof(CommandHeader, command_id) == 2);

// disconnect, get_keyed_num_descs, get_vendor_id, get_device_id, reset_device, get_status,
// get_num_queues, and every opcode that we do not know.
struct PlainCommand {
  CommandHeader header;
  uint8_t reserved[12];
};
static_assert(sizeof(PlainCommand) == 16);

struct ConnectCommand {
  CommandHeader header;
  Le16 instance_id;
  Le16 vq_index;
  Le32 body_length;
  Le16 queue_size;
  uint8_t reserved[2];
};
static_assert(sizeof(ConnectCommand) == 16 && offsetof(ConnectCommand, instance_id) == 4 &&
              offsetof(ConnectCommand, vq_index) == 6 &&
              offsetof(ConnectCommand, body_length) == 8 &&
              offsetof(ConnectCommand, queue_size) == 12);

struct KeepaliveCommand {
  CommandHeader header;
  Le32 interval_ms;
  uint8_t reserved[8];
};
static_assert(sizeof(KeepaliveCommand) == 16 && offsetof(KeepaliveCommand, interval_ms) == 4);

// get_feature, get_device_feature
struct GetFeatureCommand {
  CommandHeader header;
  Le32 select;
  uint8_t reserved[8];
};
static_assert(sizeof(GetFeatureCommand) == 16 && offsetof(GetFeatureCommand, select) == 4);

// set_feature, set_driver_feature
struct SetFeatureCommand {
  CommandHeader header;
  Le32 select;
  Le64 value;
};
static_assert(sizeof(SetFeatureCommand) == 16 && offsetof(SetFeatureCommand, select) == 4 &&
              offsetof(SetFeatureCommand, value) == 8);

struct GetKeyedEagerBufCommand {
  CommandHeader header;
  Le16 vq_index;
  uint8_t descs;
  uint8_t reserved[9];
};
static_assert(sizeof(GetKeyedEagerBufCommand) == 16 &&
              offsetof(GetKeyedEagerBufCommand, vq_index) == 4 &&
              offsetof(GetKeyedEagerBufCommand, descs) == 6);

struct VqKeyedEagerBufCommand {
  CommandHeader header;
  Le32 out_offset;
  Le32 out_length;
  Le32 in_length;
};
static_assert(sizeof(VqKeyedEagerBufCommand) == 16 &&
              offsetof(VqKeyedEagerBufCommand, out_offset) == 4 &&
              offsetof(VqKeyedEagerBufCommand, out_length) == 8 &&
              offsetof(VqKeyedEagerBufCommand, in_length) == 12);

struct VqCommand {
  CommandHeader header;
  uint8_t reserved[4];
  Le32 out_length;
  Le32 in_length;
};
static_assert(sizeof(VqCommand) == 16 && offsetof(VqCommand, out_length) == 8 &&
              offsetof(VqCommand, in_length) == 12);

struct SetStatusCommand {
  CommandHeader header;
  Le32 status;
  uint8_t reserved[8];
};
static_assert(sizeof(SetStatusCommand) == 16 && offsetof(SetStatusCommand, status) == 4);

struct GetVqSizeCommand {
  CommandHeader header;
  Le16 vq_index;
  uint8_t reserved[10];
};
static_assert(sizeof(GetVqSizeCommand) == 16 && offsetof(GetVqSizeCommand, vq_index) == 4);

struct GetConfigCommand {
  CommandHeader header;
  Le16 offset;
  uint8_t bytes;
  uint8_t reserved[9];
};
static_assert(sizeof(GetConfigCommand) == 16 && offsetof(GetConfigCommand, offset) == 4 &&
              offsetof(GetConfigCommand, bytes) == 6);

struct SetConfigCommand {
  CommandHeader header;
  Le16 offset;
  uint8_t bytes;
  uint8_t reserved;
  Le64 value;
};
static_assert(sizeof(SetConfigCommand) == 16 && offsetof(SetConfigCommand, offset) == 4 &&
              offsetof(SetConfigCommand, bytes) == 6 && offsetof(SetConfigCommand, value) == 8);

struct CompletionHeader {
  Le16 status;
  Le16 command_id;
};
static_assert(sizeof(CompletionHeader) == 4 && offsetof(CompletionHeader, command_id) == 2);

// Answers that carry nothing, and the keepalive event.
struct PlainCompletion {
  CompletionHeader header;
  uint8_t reserved[12];
};
static_assert(sizeof(PlainCompletion) == 16);

struct ConnectCompletion {
  CompletionHeader header;
  Le16 instance_id;
  uint8_t reserved[2];
  Le64 epoch;
};
static_assert(sizeof(ConnectCompletion) == 16 && offsetof(ConnectCompletion, instance_id) == 4 &&
              offsetof(ConnectCompletion, epoch) == 8);

// get_keyed_num_descs, get_keyed_eager_buf
struct DescsCompletion {
  CompletionHeader header;
  uint8_t descs;
  uint8_t reserved[11];
};
static_assert(sizeof(DescsCompletion) == 16 && offsetof(DescsCompletion, descs) == 4);

// get_vq_size, get_num_queues
struct Value16Completion {
  CompletionHeader header;
  Le16 value;
  uint8_t reserved[10];
};
static_assert(sizeof(Value16Completion) == 16 && offsetof(Value16Completion, value) == 4);

// get_vendor_id, get_device_id, get_status
struct Value32Completion {
  CompletionHeader header;
  Le32 value;
  uint8_t reserved[8];
};
static_assert(sizeof(Value32Completion) == 16 && offsetof(Value32Completion, value) == 4);

// get_feature, get_device_feature
struct Value64Completion {
  CompletionHeader header;
  uint8_t reserved[4];
  Le64 value;
};
static_assert(sizeof(Value64Completion) == 16 && offsetof(Value64Completion, value) == 8);

// get_config, and the configuration change event (whose value is reserved)
struct ConfigCompletion {
  CompletionHeader header;
  Le32 generation;
  Le64 value;
};
static_assert(sizeof(ConfigCompletion) == 16 && offsetof(ConfigCompletion, generation) == 4 &&
              offsetof(ConfigCompletion, value) == 8);

// vq, and the credit event (grant only)
struct VqCompletion {
  CompletionHeader header;
  Le16 grant;
  uint8_t reserved[2];
  Le32 length;
  Le32 in_length;
};
static_assert(sizeof(VqCompletion) == 16 && offsetof(VqCompletion, grant) == 4 &&
              offsetof(VqCompletion, length) == 8 && offsetof(VqCompletion, in_length) == 12);

struct VqKeyedEagerBufCompletion {
  CompletionHeader header;
  Le32 length;
  Le16 grant;
  uint8_t reserved[6];
};
static_assert(sizeof(VqKeyedEagerBufCompletion) == 16 &&
              offsetof(VqKeyedEagerBufCompletion, length) == 4 &&
              offsetof(VqKeyedEagerBufCompletion, grant) == 8);

struct KeyedDescriptor {
  Le64 address;
  Le32 length;
  Le32 key;
};
static_assert(sizeof(KeyedDescriptor) == 16 && offsetof(KeyedDescriptor, length) == 8 &&
              offsetof(KeyedDescriptor, key) == 12);

}  // namespace vof::v5

#endif  // VOF_CORE_WIRE_V5_LAYOUT_H_
