// SPDX-License-Identifier: Apache-2.0
//
// The head of an Ethernet frame (IEEE 802.3, 802.1Q): whom it is for, which VLAN it is in, where
// its network header begins.
//
//   FrameHead head;
//   if (!ParseFrameHead(BufferReader(frame), &head)) ...       // shorter than a head
//   if (head.vlan_id == 7) ...
//
// Pure. The frame may be cut into pieces in any way.
#ifndef VOF_DEVICES_NET_FRAME_H_
#define VOF_DEVICES_NET_FRAME_H_

#include <cstdint>

#include "core/device/buffer_cursor.h"
#include "devices/net/mac_address.h"

namespace vof {

inline constexpr uint32_t kFrameHeadBytes = 14;  // without tags
inline constexpr uint32_t kVlanTagBytes = 4;
inline constexpr uint16_t kNumVlanIds = 4096;

inline constexpr uint16_t kEtherTypeIpv4 = 0x0800;
inline constexpr uint16_t kEtherTypeIpv6 = 0x86dd;
inline constexpr uint16_t kEtherTypeVlan = 0x8100;
inline constexpr uint16_t kEtherTypeServiceVlan = 0x88a8;

struct FrameHead {
  MacAddress destination;
  MacAddress source;
  // Of the outer tag. A tag of VLAN 0 carries a priority only: such a frame is in no VLAN.
  uint16_t vlan_id = 0;
  uint16_t ether_type = 0;  // behind the tags, of which two are looked through
  uint32_t head_bytes = 0;  // with its tags
};

// False when the frame ends before its head does.
bool ParseFrameHead(BufferReader frame, FrameHead* head);

}  // namespace vof

#endif  // VOF_DEVICES_NET_FRAME_H_
