// SPDX-License-Identifier: Apache-2.0
#include "devices/net/frame.h"

#include <array>

namespace vof {
namespace {

constexpr int kMostTags = 2;
constexpr uint16_t kVlanIdMask = 0x0fff;

bool ReadBigEndian16(BufferReader* in, uint16_t* value) {
  std::array<uint8_t, 2> bytes;
  if (!in->Read(bytes.data(), bytes.size())) return false;
  *value = static_cast<uint16_t>(bytes[0] << 8 | bytes[1]);
  return true;
}

bool IsTag(uint16_t ether_type) {
  return ether_type == kEtherTypeVlan || ether_type == kEtherTypeServiceVlan;
}

}  // namespace

bool ParseFrameHead(BufferReader frame, FrameHead* head) {
  *head = FrameHead();
  if (!frame.Read(head->destination.bytes.data(), kMacBytes)) return false;
  if (!frame.Read(head->source.bytes.data(), kMacBytes)) return false;
  if (!ReadBigEndian16(&frame, &head->ether_type)) return false;
  head->head_bytes = kFrameHeadBytes;
  for (int tag = 0; tag < kMostTags && IsTag(head->ether_type); ++tag) {
    uint16_t control = 0;
    if (!ReadBigEndian16(&frame, &control) || !ReadBigEndian16(&frame, &head->ether_type)) {
      return false;
    }
    if (tag == 0) head->vlan_id = control & kVlanIdMask;
    head->head_bytes += kVlanTagBytes;
  }
  return true;
}

}  // namespace vof
