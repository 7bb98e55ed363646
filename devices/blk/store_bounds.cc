// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/store_bounds.h"

#include <algorithm>

namespace vof {

bool IsInside(const StoreOperation& operation, uint64_t size_bytes) {
  const auto inside = [size_bytes](uint64_t offset_bytes, uint64_t length_bytes) {
    return offset_bytes <= size_bytes && length_bytes <= size_bytes - offset_bytes;
  };
  switch (operation.verb) {
    case StoreVerb::kRead:
    case StoreVerb::kWrite:
      return inside(operation.offset_bytes, operation.length_bytes);
    case StoreVerb::kFlush:
      return true;
    case StoreVerb::kDiscard:
    case StoreVerb::kWriteZeroes:
      break;
  }
  return std::all_of(operation.ranges.begin(), operation.ranges.end(),
                     [&](const StoreRange& r) { return inside(r.offset_bytes, r.length_bytes); });
}

}  // namespace vof
