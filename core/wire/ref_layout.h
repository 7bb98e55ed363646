// SPDX-License-Identifier: Apache-2.0
//
// The bytes of the reference dialect: opcodes, status values and one structure per body, each with
// its size and offsets asserted. Only the codec (ref.h) and tests that forge bytes need this.
//
//   ref::SegmentDescriptor wire{};
//   wire.length = 4096;
//   wire.flags = ref::kFlagWritable;
//
// Source: docs/protocol.md, "Dialect ref".
#ifndef VOF_CORE_WIRE_REF_LAYOUT_H_
#define VOF_CORE_WIRE_REF_LAYOUT_H_

#include <cstddef>
#include <cstdint>

#include "core/base/little_endian.h"

namespace vof::ref {

namespace opcode {
inline constexpr uint16_t kConnect = 0x0000;
inline constexpr uint16_t kDisconnect = 0x0001;
inline constexpr uint16_t kKeepalive = 0x0002;
inline constexpr uint16_t kGetFeature = 0x0003;
inline constexpr uint16_t kSetFeature = 0x0004;
inline constexpr uint16_t kGetVendorId = 0x1000;
inline constexpr uint16_t kGetDeviceId = 0x1001;
inline constexpr uint16_t kGetGeneration = 0x1002;
inline constexpr uint16_t kGetStatus = 0x1003;
inline constexpr uint16_t kSetStatus = 0x1004;
inline constexpr uint16_t kGetDeviceFeature = 0x1005;
inline constexpr uint16_t kSetDriverFeature = 0x1006;
inline constexpr uint16_t kGetNumQueues = 0x1007;
inline constexpr uint16_t kGetQueueSize = 0x1008;
inline constexpr uint16_t kSetQueueSize = 0x1009;
inline constexpr uint16_t kGetConfig = 0x100a;
inline constexpr uint16_t kSetConfig = 0x100b;
inline constexpr uint16_t kGetConfigChanged = 0x100c;
inline constexpr uint16_t kVring = 0x2000;
}  // namespace opcode

// Linux errno numbers, whatever the host's own are.
namespace status {
inline constexpr uint16_t kSuccess = 0;
inline constexpr uint16_t kEio = 5;
inline constexpr uint16_t kEnomem = 12;
inline constexpr uint16_t kEacces = 13;
inline constexpr uint16_t kEbusy = 16;
inline constexpr uint16_t kEnodev = 19;
inline constexpr uint16_t kEinval = 22;
inline constexpr uint16_t kErange = 34;
inline constexpr uint16_t kEchrng = 44;
inline constexpr uint16_t kEproto = 71;
inline constexpr uint16_t kEopnotsupp = 95;
inline constexpr uint16_t kEtimedout = 110;
inline constexpr uint16_t kUnknown = 4096;
}  // namespace status

struct CommandHeader {
  Le16 opcode;
  Le16 command_id;
};
static_assert(sizeof(CommandHeader) == 4 && offsetof(CommandHeader, command_id) == 2);

// `common` in the protocol text, and every opcode that we do not know.
struct CommonCommand {
  CommandHeader header;
  uint8_t reserved[12];
};
static_assert(sizeof(CommonCommand) == 16);

struct ConnectCommand {
  CommandHeader header;
  Le16 target_id;
  Le16 queue_id;
  Le16 ndesc;
  uint8_t oftype;
  uint8_t reserved[5];
};
static_assert(sizeof(ConnectCommand) == 16 && offsetof(ConnectCommand, target_id) == 4 &&
              offsetof(ConnectCommand, queue_id) == 6 && offsetof(ConnectCommand, ndesc) == 8 &&
              offsetof(ConnectCommand, oftype) == 10);

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

struct SetStatusCommand {
  CommandHeader header;
  Le32 status;
  uint8_t reserved[8];
};
static_assert(sizeof(SetStatusCommand) == 16 && offsetof(SetStatusCommand, status) == 4);

struct GetQueueSizeCommand {
  CommandHeader header;
  Le16 queue_id;
  uint8_t reserved[10];
};
static_assert(sizeof(GetQueueSizeCommand) == 16 && offsetof(GetQueueSizeCommand, queue_id) == 4);

struct SetQueueSizeCommand {
  CommandHeader header;
  Le16 queue_id;
  uint8_t reserved[2];
  Le64 size;
};
static_assert(sizeof(SetQueueSizeCommand) == 16 && offsetof(SetQueueSizeCommand, queue_id) == 4 &&
              offsetof(SetQueueSizeCommand, size) == 8);

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

struct VringCommand {
  CommandHeader header;
  Le32 length;
  Le16 ndesc;
  uint8_t reserved[6];
};
static_assert(sizeof(VringCommand) == 16 && offsetof(VringCommand, length) == 4 &&
              offsetof(VringCommand, ndesc) == 8);

// Every answer: the value's low bytes hold it, as wide as the command says.
struct Completion {
  Le16 status;
  Le16 command_id;
  Le16 ndesc;
  uint8_t reserved[2];
  Le64 value;
};
static_assert(sizeof(Completion) == 16 && offsetof(Completion, command_id) == 2 &&
              offsetof(Completion, ndesc) == 4 && offsetof(Completion, value) == 8);

inline constexpr uint16_t kFlagWritable = 0x2;

struct SegmentDescriptor {
  Le64 address;
  Le32 length;
  Le16 id;
  Le16 flags;
  Le32 key;
  uint8_t padding[4];
};
static_assert(sizeof(SegmentDescriptor) == 24 && offsetof(SegmentDescriptor, length) == 8 &&
              offsetof(SegmentDescriptor, id) == 12 && offsetof(SegmentDescriptor, flags) == 14 &&
              offsetof(SegmentDescriptor, key) == 16);

}  // namespace vof::ref

#endif  // VOF_CORE_WIRE_REF_LAYOUT_H_
