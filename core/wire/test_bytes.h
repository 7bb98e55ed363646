// SPDX-License-Identifier: Apache-2.0
//
// For tests: bytes written as hexadecimal text, and the checks that every row of a dialect's tables
// gets.
//
//   EXPECT_EQ(Hex(out), "ff0f0300" "00000000" "10000000" "01100000");
//   CheckCommand<V5>({"vq", {.kind = CommandKind::kVq}, "ff0f...", "ffff..."});
#ifndef VOF_CORE_WIRE_TEST_BYTES_H_
#define VOF_CORE_WIRE_TEST_BYTES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/wire/codec.h"
#include "core/wire/command.h"
#include "gtest/gtest.h"

namespace vof {

inline int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// Spaces separate fields for the reader; any other stranger is a mistake in the test.
inline std::vector<std::byte> Bytes(std::string_view hex) {
  std::vector<std::byte> bytes;
  int high = -1;
  for (char c : hex) {
    if (c == ' ') continue;
    const int digit = HexDigit(c);
    EXPECT_GE(digit, 0) << "not hexadecimal: " << hex;
    if (high < 0) {
      high = digit;
    } else {
      bytes.push_back(static_cast<std::byte>(high * 16 + digit));
      high = -1;
    }
  }
  EXPECT_LT(high, 0) << "odd number of digits: " << hex;
  return bytes;
}

inline std::string Hex(std::span<const std::byte> bytes) {
  std::string text;
  for (std::byte b : bytes) {
    text += "0123456789abcdef"[static_cast<uint8_t>(b) >> 4];
    text += "0123456789abcdef"[static_cast<uint8_t>(b) & 15];
  }
  return text;
}

using Header = std::array<std::byte, kHeaderBytes>;

inline Header HeaderOf(std::string_view hex) {
  const std::vector<std::byte> bytes = Bytes(hex);
  EXPECT_EQ(bytes.size(), kHeaderBytes) << hex;
  Header header{};
  for (size_t i = 0; i < header.size() && i < bytes.size(); ++i) header[i] = bytes[i];
  return header;
}

// One row of a command table. `meaning` has ff for every byte that means something and 00 for
// reserved.
struct CommandCase {
  std::string_view name;
  Command command;  // opcode 0: taken from `hex`
  std::string_view hex;
  std::string_view meaning;
};

struct CompletionCase {
  std::string_view name;
  CommandKind kind;
  Completion completion;
  std::string_view hex;
  std::string_view meaning;
};

inline Header WithByteChanged(Header header, size_t index) {
  header[index] ^= std::byte{0xa5};
  return header;
}

// Encoding gives exactly `hex`, decoding gives the command back, reserved bytes do not matter and
// every other byte does.
template <Codec C>
void CheckCommand(const CommandCase& row) {
  SCOPED_TRACE(std::string(row.name));
  const Header wire = HeaderOf(row.hex);
  const Header meaning = HeaderOf(row.meaning);
  Command expected = row.command;
  expected.opcode =
      static_cast<uint16_t>(static_cast<uint16_t>(wire[0]) | static_cast<uint16_t>(wire[1]) << 8);

  Header encoded;
  encoded.fill(std::byte{0xee});
  C::EncodeCommand(row.command, encoded);
  EXPECT_EQ(Hex(encoded), Hex(wire));

  Command decoded;
  EXPECT_EQ(C::DecodeCommand(wire, decoded), WireError::kNone);
  EXPECT_TRUE(decoded == expected);

  for (size_t i = 0; i < kHeaderBytes; ++i) {
    Command changed;
    const WireError error = C::DecodeCommand(WithByteChanged(wire, i), changed);
    const bool same = error == WireError::kNone && changed == expected;
    EXPECT_EQ(same, meaning[i] == std::byte{0}) << "byte " << i;
  }
}

template <Codec C>
void CheckCompletion(const CompletionCase& row) {
  SCOPED_TRACE(std::string(row.name));
  const Header wire = HeaderOf(row.hex);
  const Header meaning = HeaderOf(row.meaning);
  Completion expected = row.completion;
  expected.status =
      static_cast<uint16_t>(static_cast<uint16_t>(wire[0]) | static_cast<uint16_t>(wire[1]) << 8);

  Header encoded;
  encoded.fill(std::byte{0xee});
  C::EncodeCompletion(row.kind, row.completion, encoded);
  EXPECT_EQ(Hex(encoded), Hex(wire));

  EXPECT_TRUE(C::DecodeCompletion(row.kind, wire) == expected);
  for (size_t i = 0; i < kHeaderBytes; ++i) {
    const bool same = C::DecodeCompletion(row.kind, WithByteChanged(wire, i)) == expected;
    EXPECT_EQ(same, meaning[i] == std::byte{0}) << "byte " << i;
  }
}

}  // namespace vof

#endif  // VOF_CORE_WIRE_TEST_BYTES_H_
