// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/shell/flag.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tools/common/duration.h"
#include "tools/common/size.h"

namespace vof {
namespace {

// Keeps a parsed value where the verb wants it.
template <typename Value, typename Place>
absl::Status Store(const absl::StatusOr<Value>& value, Place* place) {
  if (!value.ok()) return value.status();
  *place = *value;
  return absl::OkStatus();
}

Flag ValueFlag(std::string names, std::string value_name, std::string help,
               std::function<absl::Status(const std::string& text)> set) {
  return {.names = std::move(names),
          .value_name = std::move(value_name),
          .help = std::move(help),
          .set = std::move(set)};
}

absl::StatusOr<uint64_t> ParseCount(const std::string& text, const CountRange& range) {
  uint64_t count = 0;
  if (absl::SimpleAtoi(text, &count) && count >= range.smallest && count <= range.largest) {
    return count;
  }
  return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is not a whole number from ",
                                                 range.smallest, " to ", range.largest));
}

}  // namespace

Flag Argument(std::string name, std::string* value, std::string help) {
  Flag flag = TextFlag(std::move(name), "TEXT", value, std::move(help));
  flag.required = true;
  return flag;
}

Flag Switch(std::string names, bool* on, std::string help) {
  return {
      .names = std::move(names), .value_name = "", .help = std::move(help), .set = {}, .on = on};
}

Flag TextFlag(std::string names, std::string value_name, std::string* value, std::string help) {
  return ValueFlag(std::move(names), std::move(value_name), std::move(help),
                   [value](const std::string& text) {
                     // As "$FILE" is when there is no such variable.
                     if (text.empty()) return absl::InvalidArgumentError("the value is empty");
                     *value = text;
                     return absl::OkStatus();
                   });
}

Flag SizeFlag(std::string names, uint64_t* value, std::string help) {
  return ValueFlag(std::move(names), "SIZE", std::move(help),
                   [value](const std::string& text) { return Store(ParseSize(text), value); });
}

Flag SizeFlag(std::string names, std::optional<uint64_t>* value, std::string help) {
  return ValueFlag(std::move(names), "SIZE", std::move(help),
                   [value](const std::string& text) { return Store(ParseSize(text), value); });
}

Flag DurationFlag(std::string names, Nanoseconds* value, std::string help) {
  return ValueFlag(std::move(names), "DURATION", std::move(help),
                   [value](const std::string& text) { return Store(ParseDuration(text), value); });
}

Flag CountFlag(std::string names, const CountRange& range, uint64_t* value, std::string help) {
  return ValueFlag(std::move(names), "N", std::move(help), [range, value](const std::string& text) {
    return Store(ParseCount(text, range), value);
  });
}

Flag CountFlag(std::string names, const CountRange& range, std::optional<uint64_t>* value,
               std::string help) {
  return ValueFlag(std::move(names), "N", std::move(help), [range, value](const std::string& text) {
    return Store(ParseCount(text, range), value);
  });
}

}  // namespace vof
