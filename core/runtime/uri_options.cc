// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/uri_options.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/limits.h"
#include "core/runtime/uri_text.h"

namespace vof {
namespace {

absl::Status Bad(std::string_view key, std::string_view value, std::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat(std::string(key), "='", std::string(value),
                                                 "': expected ", std::string(expected)));
}

absl::Status SetName(std::string_view key, std::string_view value, UriOptions* options) {
  constexpr size_t kMaxBytes = kVqnFieldBytes - 1;
  if (value.empty() || value.size() > kMaxBytes || value.find('\0') != std::string_view::npos) {
    return Bad(key, value, absl::StrCat("a name of 1 to ", kMaxBytes, " bytes without NUL"));
  }
  options->initiator_name = std::string(value);
  return absl::OkStatus();
}

template <uint16_t UriOptions::*kField, uint16_t kLargest>
absl::Status SetCount(std::string_view key, std::string_view value, UriOptions* options) {
  const std::optional<uint64_t> count = ParseDecimal(value, kLargest);
  if (!count.has_value() || *count == 0) {
    return Bad(key, value, absl::StrCat("a number from 1 to ", kLargest));
  }
  options->*kField = static_cast<uint16_t>(*count);
  return absl::OkStatus();
}

absl::Status SetDialect(std::string_view key, std::string_view value, UriOptions* options) {
  if (value != "v5" && value != "ref") return Bad(key, value, "v5 or ref");
  options->dialect = value == "v5" ? Dialect::kV5 : Dialect::kRef;
  return absl::OkStatus();
}

template <Nanoseconds UriOptions::*kField, bool kZeroMeansNone>
absl::Status SetDuration(std::string_view key, std::string_view value, UriOptions* options) {
  const std::optional<Nanoseconds> duration = ParseUriDuration(value);
  if (!duration.has_value() || (*duration == 0 && !kZeroMeansNone)) {
    return Bad(key, value,
               absl::StrCat("a time such as 500ms, 10s or 2m, at most 24h",
                            kZeroMeansNone ? ", or 0 for none" : ", and not 0"));
  }
  options->*kField = *duration;
  return absl::OkStatus();
}

struct Key {
  std::string_view name;
  absl::Status (*set)(std::string_view key, std::string_view value, UriOptions* options);
};

constexpr std::array<Key, 7> kKeys = {{
    {"ivqn", SetName},
    {"queues", SetCount<&UriOptions::queues, kMaxQueuesPerInstance>},
    {"queue_size", SetCount<&UriOptions::queue_size, kMaxQueueSize>},
    {"dialect", SetDialect},
    {"connect_timeout", SetDuration<&UriOptions::connect_timeout, false>},
    {"io_timeout", SetDuration<&UriOptions::io_timeout, true>},
    {"keepalive", SetDuration<&UriOptions::keepalive, true>},
}};

const Key* FindKey(std::string_view name) {
  for (const Key& key : kKeys) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

std::string KnownKeys() {
  std::string known;
  for (const Key& key : kKeys) {
    absl::StrAppend(&known, known.empty() ? "" : ", ", std::string(key.name));
  }
  return known;
}

absl::Status ParseOption(std::string_view option, std::vector<std::string>* seen,
                         UriOptions* options) {
  const size_t equals = option.find('=');
  const std::optional<std::string> name = PercentDecode(option.substr(0, equals));
  const Key* key = name.has_value() ? FindKey(*name) : nullptr;
  if (key == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "unknown key '", std::string(option.substr(0, equals)), "' (known: ", KnownKeys(), ")"));
  }
  if (equals == std::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat("key '", *name, "' has no value"));
  }
  for (const std::string& earlier : *seen) {
    if (earlier == *name)
      return absl::InvalidArgumentError(absl::StrCat("key '", *name, "' appears twice"));
  }
  seen->push_back(*name);
  const std::optional<std::string> value = PercentDecode(option.substr(equals + 1));
  if (!value.has_value()) {
    return Bad(*name, option.substr(equals + 1), "two hexadecimal digits after each '%'");
  }
  return key->set(*name, *value, options);
}

}  // namespace

std::optional<Nanoseconds> ParseUriDuration(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, Nanoseconds>, 5> kUnits = {{
      {"ms", kNanosecondsPerMillisecond},  // before "s", its ending
      {"s", kNanosecondsPerSecond},
      {"m", 60 * kNanosecondsPerSecond},
      {"h", 3600 * kNanosecondsPerSecond},
      {"", kNanosecondsPerSecond},
  }};
  for (const auto& unit : kUnits) {
    const std::string_view suffix = unit.first;
    if (text.size() < suffix.size() || text.substr(text.size() - suffix.size()) != suffix) continue;
    const std::optional<uint64_t> count =
        ParseDecimal(text.substr(0, text.size() - suffix.size()),
                     static_cast<uint64_t>(kMaxUriDuration / unit.second));
    if (!count.has_value()) return std::nullopt;
    return static_cast<Nanoseconds>(*count) * unit.second;
  }
  return std::nullopt;
}

std::string FormatUriDuration(Nanoseconds duration) {
  if (duration % kNanosecondsPerSecond == 0)
    return absl::StrCat(duration / kNanosecondsPerSecond, "s");
  return absl::StrCat(duration / kNanosecondsPerMillisecond, "ms");
}

absl::Status ParseUriOptions(std::string_view query, UriOptions* options) {
  std::vector<std::string> seen;
  while (!query.empty()) {
    const size_t end = query.find('&');
    const std::string_view option = query.substr(0, end);
    query = end == std::string_view::npos ? std::string_view() : query.substr(end + 1);
    if (option.empty()) continue;
    if (absl::Status s = ParseOption(option, &seen, options); !s.ok()) return s;
  }
  return absl::OkStatus();
}

std::string FormatUriOptions(const UriOptions& options) {
  const UriOptions defaults;
  std::string query;
  const auto add = [&query](std::string_view key, const std::string& value) {
    absl::StrAppend(&query, query.empty() ? "" : "&", std::string(key), "=", value);
  };
  if (!options.initiator_name.empty()) {
    add("ivqn", PercentEncode(options.initiator_name, "/:@!$'()*,;"));
  }
  if (options.queues != 0) add("queues", absl::StrCat(options.queues));
  if (options.queue_size != 0) add("queue_size", absl::StrCat(options.queue_size));
  if (options.dialect != defaults.dialect)
    add("dialect", options.dialect == Dialect::kRef ? "ref" : "v5");
  if (options.connect_timeout != defaults.connect_timeout) {
    add("connect_timeout", FormatUriDuration(options.connect_timeout));
  }
  if (options.io_timeout != defaults.io_timeout)
    add("io_timeout", FormatUriDuration(options.io_timeout));
  if (options.keepalive != defaults.keepalive)
    add("keepalive", FormatUriDuration(options.keepalive));
  return query;
}

}  // namespace vof
