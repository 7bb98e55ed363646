// SPDX-License-Identifier: Apache-2.0
//
// Where the parts of one request lie in its pool memory.
//
//   RequestLayout layout = PlaceRequest({.out_bytes = 16 + 4096, .in_bytes = 1},
//   /*header_bytes=*/16);
//   // one allocation: status at 0, header at 4080, data page-aligned at 4096
//
// One allocation for everything, so that a request gets all it needs or nothing. Only when both
// directions together pass the largest class of the pool are there two. Pure.
#ifndef VOF_CORE_ENGINE_TARGET_REQUEST_LAYOUT_H_
#define VOF_CORE_ENGINE_TARGET_REQUEST_LAYOUT_H_

#include <cstddef>
#include <cstdint>

#include "core/memory/buffer_pool.h"

namespace vof {

// What must be placed; 0 for parts that need no memory.
struct RequestParts {
  uint32_t out_bytes = 0;      // device-readable
  uint32_t in_bytes = 0;       // device-writable
  uint32_t segment_bytes = 0;  // descriptors to echo
};

struct RequestLayout {
  uint32_t first_bytes = 0;   // of the first allocation
  uint32_t second_bytes = 0;  // of the second, which then holds the writable part alone
  uint32_t out_offset = 0;
  uint32_t in_offset = 0;  // in the second allocation if there is one
  uint32_t segment_offset = 0;
};

// `header_bytes` of the readable part come before its data, which is page-aligned when there is
// any.
constexpr RequestLayout PlaceRequest(const RequestParts& parts, uint32_t header_bytes) {
  constexpr uint32_t kPage = 4096;
  constexpr uint32_t kWord = 8;
  constexpr uint32_t kLargest = 1u << BufferPool::kMaxClassShift;
  const auto round_up = [](uint32_t offset, uint32_t to) { return (offset + to - 1) / to * to; };
  RequestLayout layout;
  uint32_t end = 0;
  const bool has_data = parts.out_bytes > header_bytes;
  if (has_data) {
    layout.out_offset = (kPage - header_bytes % kPage) % kPage;
    end = layout.out_offset + parts.out_bytes;
  }
  if (parts.in_bytes > 0 &&
      parts.in_bytes > layout.out_offset) {  // else in the gap before the header
    layout.in_offset = round_up(end, parts.in_bytes >= kPage ? kPage : kWord);
    if (layout.in_offset + uint64_t{parts.in_bytes} + parts.segment_bytes + kWord > kLargest) {
      layout.in_offset = 0;
      layout.second_bytes = parts.in_bytes;
    } else {
      end = layout.in_offset + parts.in_bytes;
    }
  }
  if (!has_data && parts.out_bytes > 0) {
    layout.out_offset = round_up(end, kWord);
    end = layout.out_offset + parts.out_bytes;
  }
  if (parts.segment_bytes > 0) {
    layout.segment_offset = round_up(end, kWord);
    end = layout.segment_offset + parts.segment_bytes;
  }
  layout.first_bytes = end;
  return layout;
}

}  // namespace vof

#endif  // VOF_CORE_ENGINE_TARGET_REQUEST_LAYOUT_H_
