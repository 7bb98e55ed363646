// SPDX-License-Identifier: Apache-2.0
//
// What a virtio network driver and device exchange: packet header, configuration space, control
// commands. Virtual I/O Device (VIRTIO) 1.3, section 5.1. Nothing here decides anything.
//
//   NetHeader header;
//   if (!in.Read(&header, sizeof(header))) ...
//   if ((header.flags & kNetHeaderNeedsChecksum) != 0) FinishChecksum(...);
#ifndef VOF_DEVICES_NET_NET_WIRE_H_
#define VOF_DEVICES_NET_NET_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/base/little_endian.h"

namespace vof {

inline constexpr uint32_t kNetDeviceType = 1;

// --- Feature bits (5.1.3) ---
inline constexpr uint64_t kNetFeatureChecksum = 1ull << 0;       // CSUM: transmitted without one
inline constexpr uint64_t kNetFeatureGuestChecksum = 1ull << 1;  // received without one
inline constexpr uint64_t kNetFeatureControlGuestOffloads = 1ull << 2;
inline constexpr uint64_t kNetFeatureMtu = 1ull << 3;
inline constexpr uint64_t kNetFeatureMac = 1ull << 5;
inline constexpr uint64_t kNetFeatureGuestTso4 = 1ull << 7;
inline constexpr uint64_t kNetFeatureGuestTso6 = 1ull << 8;
inline constexpr uint64_t kNetFeatureGuestEcn = 1ull << 9;
inline constexpr uint64_t kNetFeatureGuestUfo = 1ull << 10;
inline constexpr uint64_t kNetFeatureHostTso4 = 1ull << 11;
inline constexpr uint64_t kNetFeatureHostTso6 = 1ull << 12;
inline constexpr uint64_t kNetFeatureHostEcn = 1ull << 13;
inline constexpr uint64_t kNetFeatureHostUfo = 1ull << 14;
inline constexpr uint64_t kNetFeatureMergeableBuffers = 1ull << 15;
inline constexpr uint64_t kNetFeatureStatus = 1ull << 16;
inline constexpr uint64_t kNetFeatureControlQueue = 1ull << 17;
inline constexpr uint64_t kNetFeatureControlRx = 1ull << 18;
inline constexpr uint64_t kNetFeatureControlVlan = 1ull << 19;
inline constexpr uint64_t kNetFeatureControlRxExtra = 1ull << 20;
inline constexpr uint64_t kNetFeatureGuestAnnounce = 1ull << 21;
inline constexpr uint64_t kNetFeatureMultiQueue = 1ull << 22;
inline constexpr uint64_t kNetFeatureControlMacAddress = 1ull << 23;
inline constexpr uint64_t kNetFeatureGuestUso4 = 1ull << 54;
inline constexpr uint64_t kNetFeatureGuestUso6 = 1ull << 55;
inline constexpr uint64_t kNetFeatureHostUso = 1ull << 56;
inline constexpr uint64_t kNetFeatureHashReport = 1ull << 57;
inline constexpr uint64_t kNetFeatureRss = 1ull << 60;
inline constexpr uint64_t kNetFeatureSpeedDuplex = 1ull << 63;

// --- Packets (5.1.6) ---
inline constexpr uint8_t kNetHeaderNeedsChecksum = 1;
inline constexpr uint8_t kNetHeaderDataValid = 2;

inline constexpr uint8_t kNetGsoNone = 0;
inline constexpr uint8_t kNetGsoTcp4 = 1;
inline constexpr uint8_t kNetGsoUdp = 3;
inline constexpr uint8_t kNetGsoTcp6 = 4;
inline constexpr uint8_t kNetGsoUdpL4 = 5;
inline constexpr uint8_t kNetGsoEcn = 0x80;  // together with one of TCP

// Without the bit for congestion notification.
constexpr uint8_t NetGsoKind(uint8_t gso_type) {
  return gso_type & static_cast<uint8_t>(~kNetGsoEcn);
}
constexpr bool IsTcpGso(uint8_t gso_kind) {
  return gso_kind == kNetGsoTcp4 || gso_kind == kNetGsoTcp6;
}

// In front of every packet, both ways.
struct NetHeader {
  uint8_t flags = 0;
  uint8_t gso_type = 0;
  Le16 header_length;  // a hint; a device must not rely on it (5.1.6.2.2)
  Le16 gso_size;
  Le16 checksum_start;
  Le16 checksum_offset;  // behind checksum_start
  Le16 num_buffers;      // received packets; 1 without mergeable buffers
};
static_assert(sizeof(NetHeader) == 12 && alignof(NetHeader) == 1);
static_assert(offsetof(NetHeader, header_length) == 2);
static_assert(offsetof(NetHeader, gso_size) == 4);
static_assert(offsetof(NetHeader, checksum_start) == 6);
static_assert(offsetof(NetHeader, checksum_offset) == 8);
static_assert(offsetof(NetHeader, num_buffers) == 10);
static_assert(std::is_trivially_copyable_v<NetHeader>);

// --- Configuration space (5.1.4) ---
inline constexpr uint32_t kMacBytes = 6;
inline constexpr uint16_t kNetStatusLinkUp = 1;
inline constexpr uint16_t kNetStatusAnnounce = 2;
inline constexpr uint32_t kNetSpeedUnknown = 0xffffffff;
inline constexpr uint8_t kNetDuplexFull = 1;
inline constexpr uint8_t kNetDuplexUnknown = 0xff;

// struct virtio_net_config. Fields whose feature is not offered are zero.
struct NetConfigSpace {
  uint8_t mac[kMacBytes] = {};
  Le16 status;
  Le16 max_virtqueue_pairs;
  Le16 mtu;
  Le32 speed;  // in Mbit/s
  uint8_t duplex = 0;
  uint8_t rss_max_key_size = 0;
  Le16 rss_max_indirection_table_length;
  Le32 supported_hash_types;
};
static_assert(sizeof(NetConfigSpace) == 24 && alignof(NetConfigSpace) == 1);
static_assert(offsetof(NetConfigSpace, status) == 6);
static_assert(offsetof(NetConfigSpace, max_virtqueue_pairs) == 8);
static_assert(offsetof(NetConfigSpace, mtu) == 10);
static_assert(offsetof(NetConfigSpace, speed) == 12);
static_assert(offsetof(NetConfigSpace, duplex) == 16);
static_assert(offsetof(NetConfigSpace, rss_max_indirection_table_length) == 18);
static_assert(offsetof(NetConfigSpace, supported_hash_types) == 20);
static_assert(std::is_trivially_copyable_v<NetConfigSpace>);

// --- Control queue (5.1.6.5): class, command, what belongs to it; the answer is one byte ---
inline constexpr uint8_t kNetControlOk = 0;
inline constexpr uint8_t kNetControlError = 1;

inline constexpr uint8_t kNetControlRx = 0;
inline constexpr uint8_t kNetRxPromiscuous = 0;
inline constexpr uint8_t kNetRxAllMulticast = 1;
inline constexpr uint8_t kNetRxAllUnicast = 2;
inline constexpr uint8_t kNetRxNoMulticast = 3;
inline constexpr uint8_t kNetRxNoUnicast = 4;
inline constexpr uint8_t kNetRxNoBroadcast = 5;

inline constexpr uint8_t kNetControlMac = 1;
inline constexpr uint8_t kNetMacTableSet = 0;
inline constexpr uint8_t kNetMacAddressSet = 1;

inline constexpr uint8_t kNetControlVlan = 2;
inline constexpr uint8_t kNetVlanAdd = 0;
inline constexpr uint8_t kNetVlanDelete = 1;

inline constexpr uint8_t kNetControlAnnounce = 3;
inline constexpr uint8_t kNetAnnounceAck = 0;

inline constexpr uint8_t kNetControlMultiQueue = 4;
inline constexpr uint8_t kNetMultiQueuePairsSet = 0;

inline constexpr uint8_t kNetControlGuestOffloads = 5;
inline constexpr uint8_t kNetGuestOffloadsSet = 0;

struct NetControlHeader {
  uint8_t control_class = 0;
  uint8_t command = 0;
};
static_assert(sizeof(NetControlHeader) == 2);

inline constexpr uint16_t kNetMinPairs = 1;
inline constexpr uint16_t kNetMaxPairs = 0x8000;

}  // namespace vof

#endif  // VOF_DEVICES_NET_NET_WIRE_H_
