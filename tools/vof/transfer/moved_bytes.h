// SPDX-License-Identifier: Apache-2.0
//
// What a transfer has moved: how many bytes in all, and up to where without a gap. Pieces end in
// any order, so the two differ while it runs, and when it fails.
//
//   MovedBytes moved;
//   moved.Add({.offset_bytes = 4096, .size_bytes = 4096});
//   moved.total_bytes() == 4096, moved.prefix_bytes() == 0
//
// Any thread.
#ifndef VOF_TOOLS_VOF_TRANSFER_MOVED_BYTES_H_
#define VOF_TOOLS_VOF_TRANSFER_MOVED_BYTES_H_

#include <cstdint>
#include <map>
#include <mutex>

#include "tools/vof/transfer/piece_plan.h"

namespace vof {

class MovedBytes {
 public:
  // Each piece once.
  void Add(const Piece& piece) {
    const std::lock_guard lock(mutex_);
    total_bytes_ += piece.size_bytes;
    behind_gap_[piece.offset_bytes] = piece.size_bytes;
    while (!behind_gap_.empty() && behind_gap_.begin()->first == prefix_bytes_) {
      prefix_bytes_ += behind_gap_.begin()->second;
      behind_gap_.erase(behind_gap_.begin());
    }
  }
  uint64_t total_bytes() const {
    const std::lock_guard lock(mutex_);
    return total_bytes_;
  }
  uint64_t prefix_bytes() const {
    const std::lock_guard lock(mutex_);
    return prefix_bytes_;
  }

 private:
  mutable std::mutex mutex_;
  uint64_t total_bytes_ = 0;
  uint64_t prefix_bytes_ = 0;
  std::map<uint64_t, uint64_t> behind_gap_;  // offset and size of what lies behind the first gap
};

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TRANSFER_MOVED_BYTES_H_
