// SPDX-License-Identifier: Apache-2.0
#include "core/base/quoted.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace vof {
namespace {

struct CodePoint {
  uint32_t value = 0;
  size_t bytes = 0;  // 0: the text does not begin with a code point of UTF-8
};

CodePoint FirstCodePoint(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  uint32_t value = lead & (0xffu >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3f);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < kLeast[bytes] || value > 0x10ffff || surrogate) return {};
  return {value, bytes};
}

// Unicode's Default_Ignorable_Code_Point, and besides those what controls, ends lines or is blank
// although it is no space.
bool IsVisible(uint32_t value) {
  constexpr struct {
    uint32_t first, last;
  } kHidden[] = {
      {0x00, 0x1f},        // controls
      {0x7f, 0x9f},        // controls
      {0xad, 0xad},        // soft hyphen
      {0x34f, 0x34f},      // joins graphemes
      {0x61c, 0x61c},      // direction of Arabic letters
      {0x115f, 0x1160},    // Hangul fillers, which look like nothing
      {0x17b4, 0x17b5},    // Khmer vowels that are not written
      {0x180b, 0x180f},    // Mongolian variants and vowel separator
      {0x200b, 0x200f},    // zero width, direction
      {0x2028, 0x202e},    // separators of lines, direction
      {0x2060, 0x206f},    // zero width, direction
      {0x2800, 0x2800},    // a Braille cell without dots
      {0x3164, 0x3164},    // Hangul filler
      {0xfe00, 0xfe0f},    // variants
      {0xfeff, 0xfeff},    // byte order
      {0xffa0, 0xffa0},    // Hangul filler
      {0xfff0, 0xfffb},    // not assigned, annotations
      {0x1bca0, 0x1bca3},  // shorthand
      {0x1d173, 0x1d17a},  // music
      {0xe0000, 0xe0fff},  // tags, variants
  };
  for (const auto& hidden : kHidden) {
    if (value >= hidden.first && value <= hidden.last) return false;
  }
  return true;
}

std::string Escape(uint32_t value, const char* format) {
  char text[16];
  std::snprintf(text, sizeof(text), format, static_cast<unsigned>(value));
  return text;
}

std::string Hidden(uint32_t value) {
  if (value == '\n') return "\\n";
  if (value == '\r') return "\\r";
  if (value == '\t') return "\\t";
  return value < 0x80 ? Escape(value, "\\x%02x") : Escape(value, "\\u{%x}");
}

// The characters of `with_backslash` get one.
std::string Escaped(std::string_view text, std::string_view with_backslash) {
  std::string escaped;
  while (!text.empty()) {
    const CodePoint point = FirstCodePoint(text);
    const size_t bytes = point.bytes == 0 ? 1 : point.bytes;
    if (point.bytes == 0) {
      escaped += Escape(static_cast<unsigned char>(text[0]), "\\x%02x");
    } else if (!IsVisible(point.value)) {
      escaped += Hidden(point.value);
    } else {
      if (with_backslash.find(text[0]) != std::string_view::npos) escaped += '\\';
      escaped += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return escaped;
}

}  // namespace

std::string Quoted(std::string_view text) { return '"' + Escaped(text, "\"\\") + '"'; }

std::string Printable(std::string_view text) { return Escaped(text, ""); }

}  // namespace vof
