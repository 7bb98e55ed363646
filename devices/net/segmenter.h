// SPDX-License-Identifier: Apache-2.0
//
// Cuts a frame with segmentation offload into frames for somebody who has not negotiated it: what
// an adapter's TSO and USO do, in software.
//
//   Segmenter segmenter;
//   if (!segmenter.Begin(frame, header)) Drop();          // its headers are not what it says
//   while (segmenter.HasNext()) {
//     const size_t size_bytes = segmenter.Next(buffer);   // whole, with its checksums
//   }
//
// For TCP over IPv4 and IPv6 and for UDP (kNetGsoUdpL4); not for fragments (kNetGsoUdp). Nothing
// allocates. The frame stays the caller's and must outlive the work.
#ifndef VOF_DEVICES_NET_SEGMENTER_H_
#define VOF_DEVICES_NET_SEGMENTER_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "devices/net/net_wire.h"

namespace vof {

class Segmenter {
 public:
  // `frame` and `header` passed ParsePacket with some gso_type. False when the headers of the frame
  // do not fit together: lengths, protocol, place of the checksum.
  bool Begin(std::span<const std::byte> frame, const NetHeader& header);

  bool HasNext() const { return payload_at_ < frame_.size(); }
  // Of the largest segment: what Next needs room for.
  size_t max_segment_bytes() const { return headers_bytes_ + segment_payload_bytes_; }
  // Writes the next segment to the front of `out` and returns its size.
  size_t Next(std::span<std::byte> out);

 private:
  bool ParseNetwork(size_t transport_at);
  bool ParseTransport(const NetHeader& header);
  void FinishNetwork(std::span<std::byte> segment) const;
  void FinishTransport(std::span<std::byte> segment, bool is_first, bool is_last) const;

  std::span<const std::byte> frame_;
  size_t network_at_ = 0;
  size_t transport_at_ = 0;
  size_t headers_bytes_ = 0;  // up to the payload
  size_t segment_payload_bytes_ = 0;
  size_t payload_at_ = 0;  // what the next segment begins with
  uint16_t index_ = 0;     // of the next segment
  bool is_ipv4_ = false;
  bool is_tcp_ = false;
};

}  // namespace vof

#endif  // VOF_DEVICES_NET_SEGMENTER_H_
