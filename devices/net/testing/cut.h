// SPDX-License-Identifier: Apache-2.0
//
// What a peer sent, cut as it liked.
//
//   const std::vector<ConstBuffer> pieces = CutInto(std::as_bytes(std::span(bytes)), 3);
#ifndef VOF_DEVICES_NET_TESTING_CUT_H_
#define VOF_DEVICES_NET_TESTING_CUT_H_

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "core/base/buffer.h"

namespace vof {

// Pieces of `piece_bytes`, the last one as long as it comes out. They point into `bytes`.
inline std::vector<ConstBuffer> CutInto(std::span<const std::byte> bytes, size_t piece_bytes) {
  std::vector<ConstBuffer> pieces;
  for (size_t at = 0; at < bytes.size(); at += piece_bytes) {
    pieces.emplace_back(bytes.data() + at, std::min(piece_bytes, bytes.size() - at));
  }
  return pieces;
}

}  // namespace vof

#endif  // VOF_DEVICES_NET_TESTING_CUT_H_
