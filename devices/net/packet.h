// SPDX-License-Identifier: Apache-2.0
//
// Parsing of what a driver transmits, apart from what becomes of it: a header of virtio and the
// frame behind it, checked, or the rule that they break (VIRTIO 1.3, 5.1.6.2).
//
//   Packet packet;
//   const PacketRule rule = ParsePacket(request->readable, {.features = driver_features}, &packet);
//   if (rule != PacketRule::kNone) ++dropped[rule];
//   packet.frame                         // a view of the frame
//   packet.header.gso_size, ...          // fit the frame, wherever it goes
//
// Pure: no state, no allocation. Whoever passes a packet on can trust the header: offsets lie
// inside of the frame, and nothing is asked for that was not negotiated.
#ifndef VOF_DEVICES_NET_PACKET_H_
#define VOF_DEVICES_NET_PACKET_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/buffer.h"
#include "core/device/buffer_cursor.h"
#include "devices/net/frame.h"
#include "devices/net/net_wire.h"

namespace vof {

// The largest frame with segmentation offload, whatever the MTU: a header of 14 bytes, two tags,
// and a packet of 65535 bytes.
inline constexpr uint32_t kMostFrameBytes = kFrameHeadBytes + 2 * kVlanTagBytes + 0xffff;

// Each enumerator names what a packet can break.
enum class PacketRule : uint8_t {
  kNone,
  kHeaderTooShort,         // fewer than 12 readable bytes
  kFrameTooShort,          // no whole head of a frame
  kFrameTooLong,           // longer than the MTU allows, or than any frame
  kChecksumNotNegotiated,  //
  kChecksumOutside,        // its place is not inside of the frame
  kGsoUnknown,             // no such type of segmentation
  kGsoNotNegotiated,       //
  kGsoWithoutChecksum,     // segments would have none
  kGsoSizeZero,            //
  kGsoOtherProtocol,       // the frame is not of the protocol that the type says
  kEcnNotNegotiated,       // or with a type that knows no congestion bit
};
inline constexpr int kNumPacketRules = 12;

// For people: what the driver did wrong.
std::string_view DescribePacketRule(PacketRule rule);

// What a packet is held against.
struct PacketLimits {
  uint64_t features = 0;  // as negotiated
  uint16_t mtu = 1500;    // of the device, without head and tags
};

struct Packet {
  NetHeader header;  // only what has a meaning: reserved flags and hints are gone
  FrameHead head;
  BufferReader frame;  // a view into the readable part
};

// On kNone fills `packet`.
PacketRule ParsePacket(std::span<const ConstBuffer> readable, const PacketLimits& limits,
                       Packet* packet);

}  // namespace vof

#endif  // VOF_DEVICES_NET_PACKET_H_
