// SPDX-License-Identifier: Apache-2.0
#include "devices/net/segmenter.h"

#include <algorithm>
#include <cstring>

#include "core/device/buffer_cursor.h"
#include "devices/net/big_endian.h"
#include "devices/net/checksum.h"
#include "devices/net/frame.h"

namespace vof {
namespace {

constexpr uint8_t kProtocolTcp = 6, kProtocolUdp = 17;

// IPv4 (RFC 791).
constexpr size_t kIpv4HeaderBytes = 20, kIpv4TotalLength = 2, kIpv4Id = 4, kIpv4Fragment = 6,
                 kIpv4Protocol = 9, kIpv4Checksum = 10, kIpv4Addresses = 12;
constexpr uint16_t kIpv4FragmentBits = 0x3fff;  // "more" and the offset
// IPv6 (RFC 8200).
constexpr size_t kIpv6HeaderBytes = 40, kIpv6PayloadLength = 4, kIpv6Addresses = 8;
// TCP (RFC 9293) and UDP (RFC 768).
constexpr size_t kTcpHeaderBytes = 20, kTcpSequence = 4, kTcpDataOffset = 12, kTcpFlags = 13,
                 kTcpChecksum = 16;
constexpr uint8_t kTcpFin = 0x01, kTcpPush = 0x08, kTcpCongestionWindowReduced = 0x80;
constexpr size_t kUdpHeaderBytes = 8, kUdpLength = 4, kUdpChecksum = 6;
constexpr size_t kMostPacketBytes = 0xffff;

uint8_t ByteAt(std::span<const std::byte> bytes, size_t at) {
  return std::to_integer<uint8_t>(bytes[at]);
}

}  // namespace

bool Segmenter::ParseNetwork(size_t transport_at) {
  const std::span<const std::byte> packet = frame_.subspan(network_at_);
  const size_t header_bytes = transport_at - network_at_;
  if (packet.empty() || transport_at > frame_.size()) return false;
  const uint8_t version = ByteAt(packet, 0) >> 4;
  if (!is_ipv4_) return version == 6 && header_bytes >= kIpv6HeaderBytes;
  if (header_bytes < kIpv4HeaderBytes || version != 4) return false;
  if (size_t{ByteAt(packet, 0) & 0x0fu} * 4 != header_bytes) return false;
  if ((ReadBigEndian16(packet, kIpv4Fragment) & kIpv4FragmentBits) != 0) return false;
  return ByteAt(packet, kIpv4Protocol) == (is_tcp_ ? kProtocolTcp : kProtocolUdp);
}

bool Segmenter::ParseTransport(const NetHeader& header) {
  const std::span<const std::byte> transport = frame_.subspan(transport_at_);
  if (transport.size() < (is_tcp_ ? kTcpHeaderBytes : kUdpHeaderBytes)) return false;
  if (header.checksum_offset != (is_tcp_ ? kTcpChecksum : kUdpChecksum)) return false;
  size_t header_bytes = kUdpHeaderBytes;
  if (is_tcp_) header_bytes = size_t{ByteAt(transport, kTcpDataOffset)} / 16 * 4;
  if (header_bytes < (is_tcp_ ? kTcpHeaderBytes : kUdpHeaderBytes)) return false;
  headers_bytes_ = transport_at_ + header_bytes;
  return headers_bytes_ < frame_.size();
}

bool Segmenter::Begin(std::span<const std::byte> frame, const NetHeader& header) {
  *this = Segmenter();
  const ConstBuffer whole(frame.data(), frame.size());
  FrameHead head;
  if (!ParseFrameHead(BufferReader(std::span(&whole, 1)), &head)) return false;
  const uint8_t type = NetGsoKind(header.gso_type);
  is_tcp_ = IsTcpGso(type);
  if (!is_tcp_ && type != kNetGsoUdpL4) return false;
  frame_ = frame;
  is_ipv4_ = head.ether_type == kEtherTypeIpv4;
  network_at_ = head.head_bytes;
  transport_at_ = header.checksum_start;
  payload_at_ = frame.size();  // nothing to cut until all is known to fit
  if (transport_at_ < network_at_ || !ParseNetwork(transport_at_)) return false;
  if (!ParseTransport(header)) return false;
  segment_payload_bytes_ = std::min<size_t>(header.gso_size, frame.size() - headers_bytes_);
  if (segment_payload_bytes_ == 0 || max_segment_bytes() - network_at_ > kMostPacketBytes) {
    return false;
  }
  payload_at_ = headers_bytes_;
  return true;
}

void Segmenter::FinishNetwork(std::span<std::byte> segment) const {
  const std::span<std::byte> packet = segment.subspan(network_at_);
  if (!is_ipv4_) {
    const size_t payload_bytes = packet.size() - kIpv6HeaderBytes;
    WriteBigEndian16(static_cast<uint16_t>(payload_bytes), packet, kIpv6PayloadLength);
    return;
  }
  WriteBigEndian16(static_cast<uint16_t>(packet.size()), packet, kIpv4TotalLength);
  const auto id = static_cast<uint16_t>(ReadBigEndian16(packet, kIpv4Id) + index_);
  WriteBigEndian16(id, packet, kIpv4Id);
  WriteBigEndian16(0, packet, kIpv4Checksum);
  ChecksumSum sum;
  sum.Add(packet.first(transport_at_ - network_at_));
  WriteBigEndian16(sum.Checksum(), packet, kIpv4Checksum);
}

void Segmenter::FinishTransport(std::span<std::byte> segment, bool is_first, bool is_last) const {
  const std::span<std::byte> transport = segment.subspan(transport_at_);
  const size_t checksum_at = is_tcp_ ? kTcpChecksum : kUdpChecksum;
  if (is_tcp_) {
    const auto passed = static_cast<uint32_t>(payload_at_ - headers_bytes_);
    WriteBigEndian32(ReadBigEndian32(transport, kTcpSequence) + passed, transport, kTcpSequence);
    uint8_t flags = ByteAt(transport, kTcpFlags);
    if (!is_last) flags &= static_cast<uint8_t>(~(kTcpFin | kTcpPush));
    if (!is_first) flags &= static_cast<uint8_t>(~kTcpCongestionWindowReduced);
    transport[kTcpFlags] = static_cast<std::byte>(flags);
  } else {
    WriteBigEndian16(static_cast<uint16_t>(transport.size()), transport, kUdpLength);
  }
  WriteBigEndian16(0, transport, checksum_at);
  const size_t addresses_at = is_ipv4_ ? kIpv4Addresses : kIpv6Addresses;
  const size_t addresses_bytes = is_ipv4_ ? 8 : 32;
  ChecksumSum sum;
  sum.Add(segment.subspan(network_at_ + addresses_at, addresses_bytes));
  sum.AddWord(is_tcp_ ? kProtocolTcp : kProtocolUdp);
  sum.AddWord(static_cast<uint16_t>(transport.size()));
  sum.Add(transport);
  const uint16_t checksum = sum.Checksum();
  WriteBigEndian16(checksum != 0 || is_tcp_ ? checksum : 0xffff, transport, checksum_at);
}

size_t Segmenter::Next(std::span<std::byte> out) {
  const size_t payload_bytes = std::min(segment_payload_bytes_, frame_.size() - payload_at_);
  const std::span<std::byte> segment = out.first(headers_bytes_ + payload_bytes);
  std::memcpy(segment.data(), frame_.data(), headers_bytes_);
  std::memcpy(segment.data() + headers_bytes_, frame_.data() + payload_at_, payload_bytes);
  FinishNetwork(segment);
  FinishTransport(segment, index_ == 0, payload_at_ + payload_bytes == frame_.size());
  payload_at_ += payload_bytes;
  ++index_;
  return segment.size();
}

}  // namespace vof
