// SPDX-License-Identifier: Apache-2.0
//
// The checksum of the internet protocols (RFC 1071): the ones' complement of the sum of 16-bit
// words.
//
//   ChecksumSum sum;
//   sum.Add(pseudo_header);  sum.Add(segment);      // in pieces of any size
//   WriteBigEndian16(sum.Checksum(), place);
//
//   FinishChecksum(frame, header);                  // what a driver left to the device
//
// Pure; nothing allocates.
#ifndef VOF_DEVICES_NET_CHECKSUM_H_
#define VOF_DEVICES_NET_CHECKSUM_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "devices/net/net_wire.h"

namespace vof {

class ChecksumSum {
 public:
  // Goes on where the last piece ended, which may be between the bytes of a word.
  void Add(std::span<const std::byte> bytes);
  // A word at an even place, in the host's order.
  void AddWord(uint16_t word) { sum_ += word; }
  // In the host's order.
  uint16_t Checksum() const;

 private:
  uint64_t sum_ = 0;
  bool is_odd_ = false;  // so many bytes were added
};

// Fills in the checksum that `header` asks for (kNetHeaderNeedsChecksum): from checksum_start to
// the end of the frame; the sum of the pseudo header is in its place already (5.1.6.2). ParsePacket
// has seen to it that the places are inside. A sum of 0 is written as 0xffff, since 0 says that a
// datagram of UDP has none.
void FinishChecksum(std::span<std::byte> frame, const NetHeader& header);

}  // namespace vof

#endif  // VOF_DEVICES_NET_CHECKSUM_H_
