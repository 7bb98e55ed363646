// SPDX-License-Identifier: Apache-2.0
//
// Blocks that say what they are: the data of `vof bench --verify`.
//
//   const StampKey key{.run = seed, .offset_bytes = 8192, .sequence = 3};
//   StampBlock(key, buffer);                                 // write it there
//   if (CheckStamp(key, buffer) != StampError::kNone) ...    // read back: is it that write's data?
//
// A stamp is a header (run, offset, size, sequence of the write, checksum) and pseudo-random bytes
// derived from them, so that a lost, misplaced, stale or torn write is told apart. Pure; any
// thread.
#ifndef VOF_TOOLS_VOF_BENCH_BLOCK_STAMP_H_
#define VOF_TOOLS_VOF_BENCH_BLOCK_STAMP_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace vof {

struct StampKey {
  uint64_t run = 0;           // tells blocks of this run from those of an earlier one
  uint64_t offset_bytes = 0;  // on the device
  uint32_t sequence = 0;      // of the writes to that block
};

enum class StampError : uint8_t {
  kNone,
  kNotStamped,  // no stamp at all: never written, or written by something else
  kChecksum,    // a stamp with damaged bytes: torn or corrupt
  kBlockBytes,  // the stamp of a block of another size, which starts here
  kOffset,      // the data of another place
  kRun,         // the data of another run: a write of this run was lost
  kSequence,    // the data of an older (or newer) write to this block
};
std::string_view StampErrorText(StampError error);

// `block` is at least kMinStampedBytes long and a multiple of 8.
inline constexpr size_t kMinStampedBytes = 64;

void StampBlock(const StampKey& key, std::span<std::byte> block);
StampError CheckStamp(const StampKey& expected, std::span<const std::byte> block);
// For blocks that another run wrote: sound, and at its place; run and sequence may be any.
StampError CheckStampOfAnyRun(uint64_t offset_bytes, std::span<const std::byte> block);
// Of a block that is kBlockBytes: which size its stamp says.
uint32_t StampedBytes(std::span<const std::byte> block);
// What a block claims to be, for people.
std::string DescribeStamp(std::span<const std::byte> block);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_BENCH_BLOCK_STAMP_H_
