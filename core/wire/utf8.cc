// SPDX-License-Identifier: Apache-2.0
#include "core/wire/utf8.h"

#include <cstddef>
#include <cstdint>

namespace vof {
namespace {

// What may follow a lead byte: the second byte's range rules out overlong forms, surrogates and
// code points beyond the last; all later bytes are 0x80..0xbf.
struct Sequence {
  size_t length;  // 0: not a lead byte
  uint8_t second_min;
  uint8_t second_max;
};

constexpr Sequence SequenceOf(uint8_t lead) {
  if (lead < 0x80) return {1, 0, 0};
  if (lead < 0xc2) return {0, 0, 0};
  if (lead < 0xe0) return {2, 0x80, 0xbf};
  if (lead == 0xe0) return {3, 0xa0, 0xbf};
  if (lead == 0xed) return {3, 0x80, 0x9f};
  if (lead < 0xf0) return {3, 0x80, 0xbf};
  if (lead == 0xf0) return {4, 0x90, 0xbf};
  if (lead < 0xf4) return {4, 0x80, 0xbf};
  if (lead == 0xf4) return {4, 0x80, 0x8f};
  return {0, 0, 0};
}

}  // namespace

bool IsUtf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const Sequence sequence = SequenceOf(static_cast<uint8_t>(text[i]));
    if (sequence.length == 0 || sequence.length > text.size() - i) return false;
    for (size_t k = 1; k < sequence.length; ++k) {
      const auto byte = static_cast<uint8_t>(text[i + k]);
      const uint8_t min = k == 1 ? sequence.second_min : 0x80;
      const uint8_t max = k == 1 ? sequence.second_max : 0xbf;
      if (byte < min || byte > max) return false;
    }
    i += sequence.length;
  }
  return true;
}

}  // namespace vof
