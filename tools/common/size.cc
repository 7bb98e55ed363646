// SPDX-License-Identifier: Apache-2.0
#include "tools/common/size.h"

#include <charconv>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace vof {
namespace {

constexpr std::string_view kUnitLetters = "KMGTPE";

absl::Status NotASize(std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("\"", std::string(text),
                                                 "\" is not a size: ", std::string(why), ". Write ",
                                                 kSizeForm, ", for example 64M"));
}

// The power of two that a unit stands for; -1 when it stands for none.
int UnitShift(std::string_view unit) {
  const std::string letters = absl::AsciiStrToUpper(absl::string_view(unit.data(), unit.size()));
  if (letters.empty() || letters == "B") return 0;
  const size_t index = kUnitLetters.find(letters[0]);
  if (index == std::string_view::npos) return -1;
  const std::string_view behind = std::string_view(letters).substr(1);
  if (!behind.empty() && behind != "I" && behind != "IB") return -1;
  return 10 * static_cast<int>(index + 1);
}

}  // namespace

absl::StatusOr<uint64_t> ParseSize(std::string_view text) {
  if (text.empty()) return NotASize(text, "it is empty");
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (rest == text.data()) return NotASize(text, "it does not start with a digit");
  if (error == std::errc::result_out_of_range) return NotASize(text, "it is above 2^64-1 bytes");
  const std::string_view unit(rest, static_cast<size_t>(end - rest));
  const int shift = UnitShift(unit);
  if (shift < 0)
    return NotASize(text, absl::StrCat("the unit \"", std::string(unit), "\" is unknown"));
  if (shift > 0 && number > (UINT64_MAX >> shift)) {
    return NotASize(text, "it is above 2^64-1 bytes");
  }
  return number << shift;
}

std::string FormatSize(uint64_t size_bytes) {
  int unit = 0;
  while (size_bytes != 0 && size_bytes % 1024 == 0 &&
         unit < static_cast<int>(kUnitLetters.size())) {
    size_bytes /= 1024;
    ++unit;
  }
  std::string text = absl::StrCat(size_bytes);
  if (unit > 0) text += kUnitLetters[static_cast<size_t>(unit - 1)];
  return text;
}

std::string ExactSize(uint64_t size_bytes) {
  std::string text = FormatSize(size_bytes);
  if (kUnitLetters.find(text.back()) == std::string_view::npos) text += " bytes";
  return text;
}

std::string HumanSize(uint64_t size_bytes) {
  if (size_bytes < 1024) return absl::StrCat(size_bytes, " B");
  double value = static_cast<double>(size_bytes);
  size_t unit = 0;
  // 1023.95 would print as 1024.0 of the smaller unit.
  while (value >= 1023.95 && unit < kUnitLetters.size()) {
    value /= 1024;
    ++unit;
  }
  std::string digits = absl::StrFormat("%.1f", value);
  if (digits.ends_with(".0")) digits.resize(digits.size() - 2);
  return absl::StrFormat("%s %ciB", digits, kUnitLetters[unit == 0 ? 0 : unit - 1]);
}

}  // namespace vof
