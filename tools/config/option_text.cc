// SPDX-License-Identifier: Apache-2.0
#include "tools/config/option_text.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace vof {
namespace {

// Cuts at single commas; two of them are one that belongs to the text.
std::vector<std::string> SplitAtCommas(std::string_view text) {
  std::vector<std::string> parts(1);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ',') {
      parts.back() += text[i];
    } else if (i + 1 < text.size() && text[i + 1] == ',') {
      parts.back() += ',';
      ++i;
    } else {
      parts.emplace_back();
    }
  }
  return parts;
}

}  // namespace

absl::StatusOr<DeviceOptionList> ParseOptionText(std::string_view text) {
  DeviceOptionList options;
  for (std::string& part : SplitAtCommas(text)) {
    const size_t equals = part.find('=');
    std::string key = part.substr(0, equals);
    if (key.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected KEY=VALUE, separated by commas (a comma inside a value is written "
                       "twice), got \"",
                       part, "\""));
    }
    std::string value = equals == std::string::npos ? "true" : part.substr(equals + 1);
    options.push_back({std::move(key), std::move(value)});
  }
  return options;
}

}  // namespace vof
