// SPDX-License-Identifier: Apache-2.0
//
// Parsing of control commands of a network device, apart from their execution: from bytes that a
// peer cut as it liked to a checked command, or the rule that they break (VIRTIO 1.3, 5.1.6.5).
//
//   ControlCommand command;
//   const ControlRule rule = ParseControl(request->readable, request->writable_bytes,
//                                         {.features = driver_features, .max_pairs = 4}, &command);
//   if (rule == ControlRule::kNone) Apply(command);
//   AnswerByte(rule == ControlRule::kNone ? kNetControlOk : kNetControlError);
//
// Pure: no state, no allocation. What follows the data that a command needs is an error too.
#ifndef VOF_DEVICES_NET_CONTROL_COMMAND_H_
#define VOF_DEVICES_NET_CONTROL_COMMAND_H_

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/buffer.h"
#include "core/device/buffer_cursor.h"
#include "devices/net/mac_address.h"
#include "devices/net/receive_filter.h"

namespace vof {

// Each enumerator names what a command can break.
enum class ControlRule : uint8_t {
  kNone,
  kNoRoomForAck,   // there is no writable byte: the device cannot answer at all
  kTooShort,       // ends before its class, its command or their data do
  kTooLong,        // goes on behind its data
  kUnknown,        // class or command
  kNotNegotiated,  // a command whose feature was not
  kBadVlan,        // an id of 4096 or more
  kBadPairs,       // none, or more than there are
  kBadOffloads,    // offloads that were not negotiated
  kBadAddress,     // zero or a group, for the device's own
};
inline constexpr int kNumControlRules = 10;

// For people: what the driver did wrong.
std::string_view DescribeControlRule(ControlRule rule);

// What a command is held against.
struct ControlLimits {
  uint64_t features = 0;   // as negotiated
  uint16_t max_pairs = 1;  // of the device
};

enum class ControlVerb : uint8_t {
  kSetMode,
  kSetTables,
  kSetAddress,
  kAddVlan,
  kDeleteVlan,
  kAnnounceAck,
  kSetPairs,
  kSetOffloads,
};

// One more than a filter holds says that there were more.
struct ControlTable {
  std::array<MacAddress, kMostFilterAddresses + 1> addresses;
  size_t size = 0;

  std::span<const MacAddress> span() const { return {addresses.data(), size}; }
};

// Only what belongs to the verb is filled.
struct ControlCommand {
  ControlVerb verb = ControlVerb::kSetMode;
  uint8_t mode = 0;  // kSetMode: one of kNetRx...
  bool on = false;   // kSetMode
  MacAddress address;
  ControlTable unicast, multicast;
  uint16_t vlan_id = 0;
  uint16_t pairs = 0;
  uint64_t offloads = 0;
};

ControlRule ParseControl(std::span<const ConstBuffer> readable, uint32_t writable_bytes,
                         const ControlLimits& limits, ControlCommand* command);

}  // namespace vof

#endif  // VOF_DEVICES_NET_CONTROL_COMMAND_H_
