// SPDX-License-Identifier: Apache-2.0
//
// Numbers of the internet protocols, the highest byte first, at a place of a frame.
//
//   WriteBigEndian16(ReadBigEndian16(packet, 4) + 1, packet, 4);
//
// The caller has checked that the bytes are there.
#ifndef VOF_DEVICES_NET_BIG_ENDIAN_H_
#define VOF_DEVICES_NET_BIG_ENDIAN_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace vof {

inline uint16_t ReadBigEndian16(std::span<const std::byte> bytes, size_t offset_bytes) {
  return static_cast<uint16_t>(std::to_integer<uint16_t>(bytes[offset_bytes]) << 8 |
                               std::to_integer<uint16_t>(bytes[offset_bytes + 1]));
}

inline void WriteBigEndian16(uint16_t value, std::span<std::byte> bytes, size_t offset_bytes) {
  bytes[offset_bytes] = static_cast<std::byte>(value >> 8);
  bytes[offset_bytes + 1] = static_cast<std::byte>(value);
}

inline uint32_t ReadBigEndian32(std::span<const std::byte> bytes, size_t offset_bytes) {
  return uint32_t{ReadBigEndian16(bytes, offset_bytes)} << 16 |
         ReadBigEndian16(bytes, offset_bytes + 2);
}

inline void WriteBigEndian32(uint32_t value, std::span<std::byte> bytes, size_t offset_bytes) {
  WriteBigEndian16(static_cast<uint16_t>(value >> 16), bytes, offset_bytes);
  WriteBigEndian16(static_cast<uint16_t>(value), bytes, offset_bytes + 2);
}

}  // namespace vof

#endif  // VOF_DEVICES_NET_BIG_ENDIAN_H_
