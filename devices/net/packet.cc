// SPDX-License-Identifier: Apache-2.0
#include "devices/net/packet.h"

#include <algorithm>

namespace vof {
namespace {

constexpr uint32_t kChecksumBytes = 2;

// What a type of segmentation needs and is for.
struct GsoKind {
  uint8_t type;
  uint64_t feature;
  uint16_t ether_type;  // 0: either
};

constexpr GsoKind kGsoKinds[] = {
    {kNetGsoTcp4, kNetFeatureHostTso4, kEtherTypeIpv4},
    {kNetGsoTcp6, kNetFeatureHostTso6, kEtherTypeIpv6},
    {kNetGsoUdp, kNetFeatureHostUfo, 0},
    {kNetGsoUdpL4, kNetFeatureHostUso, 0},
};

bool IsIp(uint16_t ether_type) {
  return ether_type == kEtherTypeIpv4 || ether_type == kEtherTypeIpv6;
}

PacketRule CheckChecksum(const NetHeader& header, uint64_t features, uint64_t frame_bytes) {
  if ((header.flags & kNetHeaderNeedsChecksum) == 0) return PacketRule::kNone;
  if ((features & kNetFeatureChecksum) == 0) return PacketRule::kChecksumNotNegotiated;
  const uint32_t end = uint32_t{header.checksum_start} + header.checksum_offset + kChecksumBytes;
  const bool is_inside = header.checksum_start >= kFrameHeadBytes && end <= frame_bytes;
  return is_inside ? PacketRule::kNone : PacketRule::kChecksumOutside;
}

PacketRule CheckGso(const NetHeader& header, uint64_t features, uint16_t ether_type) {
  if (header.gso_type == kNetGsoNone) return PacketRule::kNone;
  const uint8_t type = NetGsoKind(header.gso_type);
  const auto* const kind = std::find_if(std::begin(kGsoKinds), std::end(kGsoKinds),
                                        [&](const GsoKind& known) { return known.type == type; });
  if (kind == std::end(kGsoKinds)) return PacketRule::kGsoUnknown;
  if ((features & kind->feature) == 0) return PacketRule::kGsoNotNegotiated;
  const bool wants_ecn = type != header.gso_type;
  if (wants_ecn && (!IsTcpGso(type) || (features & kNetFeatureHostEcn) == 0)) {
    return PacketRule::kEcnNotNegotiated;
  }
  if ((header.flags & kNetHeaderNeedsChecksum) == 0) return PacketRule::kGsoWithoutChecksum;
  if (header.gso_size == 0) return PacketRule::kGsoSizeZero;
  const bool fits = kind->ether_type == 0 ? IsIp(ether_type) : ether_type == kind->ether_type;
  return fits ? PacketRule::kNone : PacketRule::kGsoOtherProtocol;
}

// Only what has a meaning, so that nothing that a driver made up travels on.
NetHeader Cleaned(const NetHeader& from) {
  NetHeader header;
  if ((from.flags & kNetHeaderNeedsChecksum) != 0) {
    header.flags = kNetHeaderNeedsChecksum;
    header.checksum_start = from.checksum_start;
    header.checksum_offset = from.checksum_offset;
  }
  if (from.gso_type != kNetGsoNone) {
    header.gso_type = from.gso_type;
    header.gso_size = from.gso_size;
  }
  return header;
}

}  // namespace

std::string_view DescribePacketRule(PacketRule rule) {
  switch (rule) {
    case PacketRule::kNone:
      return "nothing is wrong";
    case PacketRule::kHeaderTooShort:
      return "shorter than its virtio header";
    case PacketRule::kFrameTooShort:
      return "a frame that is shorter than its head";
    case PacketRule::kFrameTooLong:
      return "a frame that is longer than the MTU allows";
    case PacketRule::kChecksumNotNegotiated:
      return "without a checksum, which was not negotiated";
    case PacketRule::kChecksumOutside:
      return "a place of the checksum that is not inside of the frame";
    case PacketRule::kGsoUnknown:
      return "an unknown type of segmentation";
    case PacketRule::kGsoNotNegotiated:
      return "to be segmented, which was not negotiated";
    case PacketRule::kGsoWithoutChecksum:
      return "to be segmented without checksums";
    case PacketRule::kGsoSizeZero:
      return "to be cut into segments of 0 bytes";
    case PacketRule::kGsoOtherProtocol:
      return "to be segmented as a protocol that it is not";
    case PacketRule::kEcnNotNegotiated:
      return "to be segmented with congestion notification, which was not negotiated";
  }
  return "unknown";
}

PacketRule ParsePacket(std::span<const ConstBuffer> readable, const PacketLimits& limits,
                       Packet* packet) {
  BufferReader in(readable);
  NetHeader header;
  if (!in.Read(static_cast<void*>(&header), sizeof(header))) return PacketRule::kHeaderTooShort;
  const uint64_t frame_bytes = in.remaining_bytes();
  if (!ParseFrameHead(in, &packet->head)) return PacketRule::kFrameTooShort;
  const uint32_t most_bytes =
      header.gso_type == kNetGsoNone ? packet->head.head_bytes + limits.mtu : kMostFrameBytes;
  if (frame_bytes > most_bytes) return PacketRule::kFrameTooLong;
  PacketRule rule = CheckChecksum(header, limits.features, frame_bytes);
  if (rule == PacketRule::kNone) rule = CheckGso(header, limits.features, packet->head.ether_type);
  if (rule != PacketRule::kNone) return rule;
  packet->header = Cleaned(header);
  packet->frame = in;
  return PacketRule::kNone;
}

}  // namespace vof
