// SPDX-License-Identifier: Apache-2.0
//
// How a transfer is cut into pieces that are moved side by side. Arithmetic only.
//
//   PieceLimits limits{.alignment_bytes = 512, .data_bytes = 1 << 20};
//   bool is_hole = extent.is_hole;
//   uint64_t size_bytes = PieceSize(limits, {.position_bytes = p, .end_bytes = n}, extent_end,
//   &is_hole);
//
// Offsets count from the start of the transfer. Every piece but the last begins and ends at a
// multiple of the alignment, whatever the holes of the source look like.
#ifndef VOF_TOOLS_VOF_TRANSFER_PIECE_PLAN_H_
#define VOF_TOOLS_VOF_TRANSFER_PIECE_PLAN_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace vof {

// A part of a transfer, in the order in which it was cut off.
struct Piece {
  uint64_t sequence = 0;
  uint64_t offset_bytes = 0;
  uint64_t size_bytes = 0;
  bool is_hole = false;
};

struct PieceLimits {
  uint32_t alignment_bytes = 1;  // the destination's block
  uint32_t data_bytes = 1u << 20;
  uint64_t hole_bytes = 64u << 20;  // so that a large hole occupies several requests, too
};

// What is left: [position, end).
struct Remainder {
  uint64_t position_bytes = 0;
  uint64_t end_bytes = 0;
};

// The size of the next piece. The source is hole or data up to `extent_end_bytes` (> position), in
// the transfer's offsets. Sets `*is_hole` to whether the piece is one: a hole that ends before the
// next multiple of the alignment is read as data.
inline uint64_t PieceSize(const PieceLimits& limits, const Remainder& left,
                          uint64_t extent_end_bytes, bool* is_hole) {
  const uint64_t alignment = limits.alignment_bytes;
  const uint64_t left_bytes = left.end_bytes - left.position_bytes;
  uint64_t extent_bytes = std::min(extent_end_bytes, left.end_bytes) - left.position_bytes;
  if (*is_hole) {
    if (extent_bytes < left_bytes) extent_bytes -= extent_bytes % alignment;
    if (extent_bytes > 0) return std::min(extent_bytes, limits.hole_bytes);
    *is_hole = false;
    extent_bytes = alignment;
  }
  extent_bytes += (alignment - extent_bytes % alignment) % alignment;
  return std::min({extent_bytes, left_bytes, uint64_t{limits.data_bytes}});
}

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TRANSFER_PIECE_PLAN_H_
