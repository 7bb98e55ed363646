// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/bench/block_stamp.h"

#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "core/base/little_endian.h"
#include "tools/vof/bench/workload.h"

namespace vof {
namespace {

constexpr uint64_t kMagic = 0x706d617473666f76;  // "vofstamp"

struct StampHeader {
  Le64 magic;
  Le64 run;
  Le64 offset_bytes;
  Le32 sequence;
  Le32 block_bytes;
  Le64 checksum;  // of the whole block with this field zero
};
static_assert(sizeof(StampHeader) == 40 && sizeof(StampHeader) <= kMinStampedBytes);
constexpr size_t kChecksumOffset = offsetof(StampHeader, checksum);

uint64_t WordAt(std::span<const std::byte> block, size_t offset) {
  uint64_t word;
  std::memcpy(&word, block.data() + offset, sizeof(word));
  return word;
}

// Depends on the place of every word, so that swapped pieces do not pass.
uint64_t Checksum(std::span<const std::byte> block) {
  uint64_t sum = 0x9e3779b97f4a7c15ull;
  for (size_t at = 0; at + 8 <= block.size(); at += 8) {
    if (at == kChecksumOffset) continue;
    sum = (std::rotl(sum, 23) ^ WordAt(block, at)) * 0xff51afd7ed558ccdull;
  }
  return sum ^ (sum >> 32);
}

// Its checksum covers bytes that are not here: what can be checked is whether it makes sense.
bool StartsAnother(const StampHeader& header, uint64_t offset_bytes) {
  return header.block_bytes >= kMinStampedBytes && header.block_bytes % 8 == 0 &&
         header.offset_bytes == offset_bytes && offset_bytes % header.block_bytes == 0;
}

StampError CheckSound(uint64_t offset_bytes, std::span<const std::byte> block,
                      StampHeader* header) {
  *header = ReadStruct<StampHeader>(block);
  if (header->magic != kMagic) return StampError::kNotStamped;
  if (header->block_bytes != block.size() && StartsAnother(*header, offset_bytes)) {
    return StampError::kBlockBytes;
  }
  if (header->checksum != Checksum(block)) return StampError::kChecksum;
  return StampError::kNone;
}

}  // namespace

std::string_view StampErrorText(StampError error) {
  switch (error) {
    case StampError::kNone:
      return "as written";
    case StampError::kNotStamped:
      return "holds no stamp: it was never written with --verify, or that write was lost, or "
             "something else wrote there";
    case StampError::kChecksum:
      return "holds damaged data: the checksum does not match";
    case StampError::kBlockBytes:
      return "was written with blocks of another size";
    case StampError::kOffset:
      return "holds the data of another place";
    case StampError::kRun:
      return "holds the data of another run: the write was lost";
    case StampError::kSequence:
      return "holds the data of another write to the same place";
  }
  return "?";
}

void StampBlock(const StampKey& key, std::span<std::byte> block) {
  SplitMix64 fill(key.run ^ std::rotl(key.offset_bytes, 17) ^ (uint64_t{key.sequence} << 40));
  for (size_t at = 0; at + 8 <= block.size(); at += 8) {
    const uint64_t word = fill.Next();
    std::memcpy(block.data() + at, &word, sizeof(word));
  }
  StampHeader header;
  header.magic = kMagic;
  header.run = key.run;
  header.offset_bytes = key.offset_bytes;
  header.sequence = key.sequence;
  header.block_bytes = static_cast<uint32_t>(block.size());
  WriteStruct(header, block);
  header.checksum = Checksum(block);
  WriteStruct(header, block);
}

StampError CheckStamp(const StampKey& expected, std::span<const std::byte> block) {
  StampHeader header;
  const StampError error = CheckSound(expected.offset_bytes, block, &header);
  if (error != StampError::kNone) return error;
  if (header.offset_bytes != expected.offset_bytes) return StampError::kOffset;
  if (header.run != expected.run) return StampError::kRun;
  if (header.sequence != expected.sequence) return StampError::kSequence;
  return StampError::kNone;
}

StampError CheckStampOfAnyRun(uint64_t offset_bytes, std::span<const std::byte> block) {
  StampHeader header;
  const StampError error = CheckSound(offset_bytes, block, &header);
  if (error != StampError::kNone) return error;
  return header.offset_bytes == offset_bytes ? StampError::kNone : StampError::kOffset;
}

uint32_t StampedBytes(std::span<const std::byte> block) {
  return ReadStruct<StampHeader>(block).block_bytes;
}

std::string DescribeStamp(std::span<const std::byte> block) {
  const StampHeader header = ReadStruct<StampHeader>(block);
  if (header.magic != kMagic) return "no stamp";
  return absl::StrCat("offset ", uint64_t{header.offset_bytes}, ", block of ",
                      uint32_t{header.block_bytes}, " bytes, write ", uint32_t{header.sequence},
                      ", run ", uint64_t{header.run});
}

}  // namespace vof
