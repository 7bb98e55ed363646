// SPDX-License-Identifier: Apache-2.0
//
// What `vof bench --verify` knows about the blocks of one queue: how often each was written, and
// whether an operation is in flight on it.
//
//   const uint64_t block = ledger.Claim(wanted);   // `wanted`, or the next block that is free
//   ledger.sequence(block) + 1                     // the sequence a write to it carries
//   ledger.ReleaseAfterWrite(block, true);
//
// A device may do concurrent requests in any order, so only one at a time touches a block:
// otherwise no reader could say which data is right. 4 bytes per block. One owner.
#ifndef VOF_TOOLS_VOF_BENCH_VERIFY_LEDGER_H_
#define VOF_TOOLS_VOF_BENCH_VERIFY_LEDGER_H_

#include <cstdint>
#include <vector>

namespace vof {

class VerifyLedger {
 public:
  // 2^26 blocks are 256 MiB of ledger, and 256 GiB of device in blocks of 4 KiB.
  static constexpr uint64_t kMaxBlocks = 1u << 26;

  explicit VerifyLedger(uint64_t num_blocks) : entries_(num_blocks) {}

  // Some block must be free: more blocks than operations in flight.
  uint64_t Claim(uint64_t wanted) {
    while (entries_[wanted] & kBusy) wanted = wanted + 1 == entries_.size() ? 0 : wanted + 1;
    entries_[wanted] |= kBusy;
    return wanted;
  }
  void ReleaseAfterRead(uint64_t block) { entries_[block] &= ~kBusy; }
  // The block holds the next sequence - or after a failed write, nobody knows what.
  void ReleaseAfterWrite(uint64_t block, bool succeeded) {
    entries_[block] = NextSequence(entries_[block]) | (succeeded ? 0 : kUnknown);
  }

  // Whether this run knows what the block holds: the write with `sequence(block)`.
  bool known(uint64_t block) const {
    return sequence(block) != 0 && (entries_[block] & kUnknown) == 0;
  }
  uint32_t sequence(uint64_t block) const { return entries_[block] & kSequenceMask; }
  uint32_t next_sequence(uint64_t block) const { return NextSequence(entries_[block]); }
  uint64_t num_blocks() const { return entries_.size(); }

 private:
  static constexpr uint32_t kBusy = 1u << 31;
  static constexpr uint32_t kUnknown = 1u << 30;
  static constexpr uint32_t kSequenceMask = kUnknown - 1;

  // Skips 0, which means "not written".
  static uint32_t NextSequence(uint32_t entry) {
    const uint32_t sequence = entry & kSequenceMask;
    return sequence == kSequenceMask ? 1 : sequence + 1;
  }

  std::vector<uint32_t> entries_;
};

}  // namespace vof

#endif  // VOF_TOOLS_VOF_BENCH_VERIFY_LEDGER_H_
