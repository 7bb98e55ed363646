// SPDX-License-Identifier: Apache-2.0
#include "devices/net/frame.h"

#include <array>

#include "devices/net/big_endian.h"

namespace vof {
namespace {

constexpr int kMostTags = 2;
constexpr uint16_t kVlanIdMask = 0x0fff;

bool ReadWord(BufferReader* in, uint16_t* value) {
  std::array<std::byte, 2> bytes;
  if (!in->Read(bytes.data(), bytes.size())) return false;
  *value = ReadBigEndian16(bytes, 0);
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
  if (!ReadWord(&frame, &head->ether_type)) return false;
  head->head_bytes = kFrameHeadBytes;
  for (int tag = 0; tag < kMostTags && IsTag(head->ether_type); ++tag) {
    uint16_t control = 0;
    if (!ReadWord(&frame, &control) || !ReadWord(&frame, &head->ether_type)) {
      return false;
    }
    if (tag == 0) head->vlan_id = control & kVlanIdMask;
    head->head_bytes += kVlanTagBytes;
  }
  return true;
}

}  // namespace vof
