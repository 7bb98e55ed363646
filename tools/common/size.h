// SPDX-License-Identifier: Apache-2.0
//
// Sizes as people write them.
//
//   ParseSize("64M")        -> 67108864
//   ParseSize("1048576")    -> 1048576
//   FormatSize(67108864)    -> "64M"       exact: ParseSize reads it back
//   ExactSize(3000)         -> "3000 bytes"  the same, for messages
//   HumanSize(1610612736)   -> "1.5 GiB"   rounded, for people
//
// Pure; any thread.
#ifndef VOF_TOOLS_COMMON_SIZE_H_
#define VOF_TOOLS_COMMON_SIZE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace vof {

// How to write a size, for help and messages; ends a sentence.
inline constexpr char kSizeForm[] =
    "a whole number of bytes, or one with K, M, G, T, P or E behind it (powers of 1024)";

// A whole number of bytes, or one followed by K, M, G, T, P or E (powers of 1024; "Ki" and "KiB"
// are the same, in letters of any case). kInvalidArgument says what is wrong with `text` and how a
// size looks.
// "KB" is refused: it means 1000 to one reader and 1024 to the next.
absl::StatusOr<uint64_t> ParseSize(std::string_view text);

// The shortest text that ParseSize reads back as exactly `size_bytes`.
std::string FormatSize(uint64_t size_bytes);

// The same for messages, where a bare number would lack its unit: "64M", "3000 bytes".
std::string ExactSize(uint64_t size_bytes);

// At most four significant digits and a unit: "512 B", "1.5 GiB".
std::string HumanSize(uint64_t size_bytes);

}  // namespace vof

#endif  // VOF_TOOLS_COMMON_SIZE_H_
