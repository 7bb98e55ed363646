// SPDX-License-Identifier: Apache-2.0
#include "devices/net/checksum.h"

#include <bit>
#include <cstring>

#include "devices/net/big_endian.h"

namespace vof {
namespace {

// The sum of whole words in the order of the machine, folded to 16 bits: the order of bytes does
// not matter to a ones' complement sum but for its last swap (RFC 1071, 2B).
uint16_t Folded(uint64_t sum) {
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

uint16_t ToBigEndian(uint16_t value) {
  return std::endian::native == std::endian::little ? __builtin_bswap16(value) : value;
}

// `bytes` has an even size.
uint16_t SumOfWords(std::span<const std::byte> bytes) {
  uint64_t sum = 0;
  size_t at = 0;
  for (; at + sizeof(uint32_t) <= bytes.size(); at += sizeof(uint32_t)) {
    uint32_t word;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    sum += word;
  }
  if (at < bytes.size()) {
    uint16_t word;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    sum += word;
  }
  return ToBigEndian(Folded(sum));
}

}  // namespace

void ChecksumSum::Add(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  if (is_odd_) {
    sum_ += std::to_integer<uint8_t>(bytes.front());
    bytes = bytes.subspan(1);
    is_odd_ = false;
  }
  const size_t even_bytes = bytes.size() / 2 * 2;
  sum_ += SumOfWords(bytes.first(even_bytes));
  if (even_bytes == bytes.size()) return;
  sum_ += uint64_t{std::to_integer<uint8_t>(bytes.back())} << 8;
  is_odd_ = true;
}

uint16_t ChecksumSum::Checksum() const { return static_cast<uint16_t>(~Folded(sum_)); }

void FinishChecksum(std::span<std::byte> frame, const NetHeader& header) {
  const size_t place = size_t{header.checksum_start} + header.checksum_offset;
  ChecksumSum sum;
  sum.Add(frame.subspan(header.checksum_start));
  const uint16_t checksum = sum.Checksum();
  WriteBigEndian16(checksum != 0 ? checksum : 0xffff, frame, place);
}

}  // namespace vof
