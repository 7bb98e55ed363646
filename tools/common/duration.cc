// SPDX-License-Identifier: Apache-2.0
#include "tools/common/duration.h"

#include <array>
#include <charconv>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace vof {
namespace {

struct Unit {
  std::string_view name;
  Nanoseconds length;
};

// From the largest down, so that the first that divides is the one to print.
constexpr std::array<Unit, 6> kUnits = {{{"h", 3600 * kNanosecondsPerSecond},
                                         {"m", 60 * kNanosecondsPerSecond},
                                         {"s", kNanosecondsPerSecond},
                                         {"ms", kNanosecondsPerMillisecond},
                                         {"us", 1000},
                                         {"ns", 1}}};

absl::Status NotADuration(std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", std::string(text), "\" is not a duration: ", std::string(why),
                   ". Write a whole number with ns, us, ms, s, m or h behind it (a bare number is "
                   "seconds), for example 500ms"));
}

}  // namespace

absl::StatusOr<Nanoseconds> ParseDuration(std::string_view text) {
  if (text.empty()) return NotADuration(text, "it is empty");
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (rest == text.data()) return NotADuration(text, "it does not start with a digit");
  std::string_view name(rest, static_cast<size_t>(end - rest));
  if (name.empty()) name = "s";
  for (const Unit& unit : kUnits) {
    if (unit.name != name) continue;
    const uint64_t most = static_cast<uint64_t>(kInfiniteFuture / unit.length);
    if (error == std::errc::result_out_of_range || number > most) {
      return NotADuration(text, "it is longer than 292 years");
    }
    return static_cast<Nanoseconds>(number) * unit.length;
  }
  return NotADuration(text, absl::StrCat("the unit \"", std::string(name), "\" is unknown"));
}

std::string FormatDuration(Nanoseconds duration) {
  if (duration == 0) return "0s";
  for (const Unit& unit : kUnits) {
    if (duration % unit.length == 0) {
      return absl::StrCat(duration / unit.length, std::string(unit.name));
    }
  }
  return absl::StrCat(duration, "ns");
}

std::string HumanDuration(Nanoseconds duration) {
  if (duration < 1000) return absl::StrCat(duration, " ns");
  // Minutes and hours do not read well with decimals: seconds are the largest unit here.
  const Unit& unit = duration >= kNanosecondsPerSecond        ? kUnits[2]
                     : duration >= kNanosecondsPerMillisecond ? kUnits[3]
                                                              : kUnits[4];
  const double value = static_cast<double>(duration) / static_cast<double>(unit.length);
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return absl::StrFormat("%.*f %s", decimals, value, std::string(unit.name));
}

}  // namespace vof
