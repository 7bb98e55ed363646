// SPDX-License-Identifier: Apache-2.0
//
// Commands and completions as everything above the codec sees them: one neutral form for both
// dialects.
//
//   Command read_capacity{.kind = CommandKind::kGetConfig, .command_id = 7, .offset = 0, .bytes =
//   8}; V5::EncodeCommand(read_capacity, out);                      // 16 bytes of the native
//   dialect Completion c = V5::DecodeCompletion(CommandKind::kGetConfig, in); if (c.ok())
//   use(c.value);
//
// A completion does not say what it answers, so its decoder is told the kind of the command.
// Source: docs/protocol.md, "Dialect v5", "Dialect ref".
#ifndef VOF_CORE_WIRE_COMMAND_H_
#define VOF_CORE_WIRE_COMMAND_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/limits.h"

namespace vof {

enum class Dialect : uint8_t { kV5, kRef };

// How data travels on a connection; `oftype` of the `ref` Connect.
enum class Transmission : uint8_t { kStream = 0, kKeyed = 1 };

enum class CommandKind : uint8_t {
  kUnknown,  // an opcode that the dialect does not have; Command::opcode holds it
  kConnect,
  kDisconnect,
  kKeepalive,
  kGetFeature,
  kSetFeature,
  kGetKeyedNumDescs,  // v5
  kGetKeyedEagerBuf,  // v5
  kVqKeyedEagerBuf,   // v5
  kVq,                // `vring` in ref
  kGetVendorId,
  kGetDeviceId,
  kResetDevice,  // v5; ref says set_status 0
  kGetStatus,
  kSetStatus,
  kGetDeviceFeature,
  kSetDriverFeature,
  kGetVqSize,  // get_queue_size in ref
  kSetVqSize,  // ref
  kGetConfig,
  kSetConfig,
  kGetNumQueues,      // v5: with NUM_QUEUES
  kGetGeneration,     // ref
  kGetConfigChanged,  // ref
};
std::string_view CommandKindName(CommandKind kind);  // "get_vq_size": the name in the protocol text

// Which fields mean something depends on `kind`; the others stay zero.
struct Command {
  CommandKind kind = CommandKind::kUnknown;
  uint16_t opcode = 0;  // as received; ignored when encoding unless kind is kUnknown
  uint16_t command_id = 0;

  uint16_t instance_id = 0;  // connect; 0xffff: control queue
  uint16_t queue_index = 0;  // connect, get/set_vq_size, get_keyed_eager_buf
  uint16_t queue_size = 0;   // connect (v5)
  uint32_t body_length = 0;  // connect: bytes of body that follow, 0 or kConnectBodyBytes
  Transmission transmission = Transmission::kStream;  // connect (ref)

  uint32_t select = 0;       // feature pages
  uint64_t value = 0;        // features, status, configuration, queue size
  uint16_t offset = 0;       // configuration
  uint8_t bytes = 0;         // configuration: 1, 2, 4 or 8
  uint32_t interval_ms = 0;  // keepalive (v5)

  uint32_t out_length = 0;  // vq (v5), and vq_keyed_eager_buf
  uint32_t in_length = 0;   // vq (v5), and vq_keyed_eager_buf
  uint32_t out_offset = 0;  // vq_keyed_eager_buf
  uint16_t ndesc = 0;       // vring: segment descriptors that follow
  uint8_t descs = 0;        // get_keyed_eager_buf

  bool operator==(const Command&) const = default;
};

// Why a command failed, neutral; the codec turns it into the dialect's number and back.
enum class Cause : uint8_t {
  kOk,
  kUnknownCommand,   // ENOCMD / 95
  kTooManyCommands,  // ECMDQUOT / 12
  kUnknownName,      // ENOTGT / 19
  kExclusiveUse,     // ENODEV / 16
  kLimit,            // ENODEV / 12
  kAccess,           // EACLREJECTED / 13
  kNoInstance,       // EBADDEV / 19
  kNamesDiffer,      // EBADVQN / 71
  kQueueIndex,       // EQUEUEQUOT / 44
  kQueueBusy,        // EQUEUEBUSY / 16
  kQueueSize,        // EQSIZEQUOT / 22
  kFeature,          // EFEATURE / 22 (transport feature page or bits)
  kStatus,           // ESTATUS / 22
  kDeviceFeature,    // EDEVFEATURE / 22
  kConfigOffset,     // ECONFOFF / 22
  kConfigBytes,      // ECONFBYTES / 22
  kOutLength,        // EOUTVQBUF / 5
  kInLength,         // EINVQBUF / 5
  kUnknown,          // received only: a number that the dialect does not have
};
std::string_view CauseText(Cause cause);  // a clause for people: "the target serves no device ..."

struct Completion {
  Cause cause = Cause::kOk;
  uint16_t status = 0;  // received only: the number on the wire, for people to read
  uint16_t command_id = 0;

  uint16_t instance_id = 0;    // connect
  uint64_t epoch = 0;          // connect (v5)
  uint64_t value = 0;          // whatever a get_... command asked for
  uint32_t generation = 0;     // get_config (v5), configuration change event
  uint32_t used_length = 0;    // vq: bytes of the writable part, from its start, that hold data
  uint32_t inline_length = 0;  // vq (v5): `in_length`; on a stream it repeats the used length
  uint16_t grant = 0;          // vq, credit event (v5 with CREDIT)
  uint16_t ndesc = 0;          // vring: device-writable descriptors of the request

  bool ok() const { return cause == Cause::kOk; }
  bool operator==(const Completion&) const = default;
};

// Reserved completion ids of the native dialect (events), and where reserved ids begin.
inline constexpr uint16_t kEventCredit = 0xfffd;
inline constexpr uint16_t kEventConfigChanged = 0xfffe;
inline constexpr uint16_t kEventKeepalive = 0xffff;
inline constexpr uint16_t kControlInstanceId = 0xffff;

// One segment descriptor of `ref` (24 bytes) or one keyed descriptor of `v5` (16 bytes).
struct Segment {
  uint64_t address = 0;  // keyed: remote address; on a stream ignored on receipt
  uint32_t length_bytes = 0;
  uint32_t key = 0;
  uint16_t id = 0;        // ref: opaque, echoed
  bool writable = false;  // ref: by the device

  bool operator==(const Segment&) const = default;
};

using SessionToken = std::array<std::byte, kSessionTokenBytes>;

// The 1024-byte body of Connect, validated: names are NUL-terminated and at most 255 bytes.
struct ConnectBody {
  std::string initiator_name = {};  // ivqn
  std::string target_name = {};     // tvqn
  SessionToken token{};             // all zero: none

  bool has_token() const { return token != SessionToken{}; }
  bool operator==(const ConnectBody&) const = default;
};

// Transport feature bits of page 0 (native dialect).
namespace transport_feature {
inline constexpr uint64_t kKeyedNumDescs = 1ull << 0;
inline constexpr uint64_t kKeyedEagerBuf = 1ull << 1;
inline constexpr uint64_t kCredit = 1ull << 32;
inline constexpr uint64_t kInline = 1ull << 33;
inline constexpr uint64_t kRing = 1ull << 34;
inline constexpr uint64_t kNumQueues = 1ull << 35;
inline constexpr uint64_t kDiscovery = 1ull << 36;
inline constexpr uint64_t kDigest = 1ull << 37;
inline constexpr uint64_t kRegion = 1ull << 38;
}  // namespace transport_feature

// Pages of get_feature / set_feature. In `ref`, page 0 is the largest number of segments of a
// request.
inline constexpr uint32_t kFeaturePageBits = 0;
inline constexpr uint32_t kFeaturePageInlineSizes = 0x100;
inline constexpr uint32_t kFeaturePageRequestSizes = 0x101;  // le32 largest out, le32 largest in

}  // namespace vof

#endif  // VOF_CORE_WIRE_COMMAND_H_
