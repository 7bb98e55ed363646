// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/uri_options.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/base/limits.h"
#include "core/runtime/uri_text.h"
#include "core/wire/utf8.h"

namespace vof {
namespace {

absl::Status Bad(std::string_view key, std::string_view value, std::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat(std::string(key), "='", std::string(value),
                                                 "': expected ", std::string(expected)));
}

std::string AllowedDuration(const DurationRange& range) {
  return absl::StrCat("a time such as 500ms, 10s or 2m, from ", FormatUriDuration(range.shortest),
                      " to ", FormatUriDuration(range.longest),
                      range.zero_means_none ? ", or 0 for none" : ", not 0");
}

// What a key takes, and how it is taken: false when it is something else.
struct Key {
  std::string_view name;
  std::string_view meaning;
  std::string (*allowed)();
  std::string (*default_value)();  // in words where there is no value for it
  bool (*set)(std::string_view value, UriOptions* options);
  std::string_view scheme = {};  // the only one that takes it; empty: each
  bool for_listeners = false;    // they take it, too
};

constexpr size_t kMaxNameBytes = kVqnFieldBytes - 1;

constexpr Key kInitiatorName = {
    "ivqn", "the name to connect as",
    [] { return absl::StrCat("a name in UTF-8 of 1 to ", kMaxNameBytes, " bytes without NUL"); },
    [] { return std::string("vof. and the name of the host"); },
    [](std::string_view value, UriOptions* options) {
      options->initiator_name = std::string(value);
      return !value.empty() && value.size() <= kMaxNameBytes &&
             value.find('\0') == std::string_view::npos && IsUtf8(value);
    }};

constexpr Key kDialect = {"dialect", "what to speak", [] { return std::string("v5 or ref"); },
                          [] { return std::string("v5"); },
                          [](std::string_view value, UriOptions* options) {
                            options->dialect = value == "ref" ? Dialect::kRef : Dialect::kV5;
                            return value == "v5" || value == "ref";
                          }};

constexpr size_t kMaxProviderBytes = 64;

constexpr Key kProvider = {
    "provider",
    "libfabric's provider, as fi_info names it",
    [] { return absl::StrCat("a name such as tcp or shm, at most ", kMaxProviderBytes, " bytes"); },
    [] { return std::string("the first that libfabric offers"); },
    [](std::string_view value, UriOptions* options) {
      options->provider = std::string(value);
      return !value.empty() && value.size() <= kMaxProviderBytes &&
             std::all_of(value.begin(), value.end(),
                         [](char c) { return absl::ascii_isalnum(c) || c == '_' || c == ';'; });
    },
    "ofi",
    /*for_listeners=*/true};

constexpr Key kTransmission = {"transmission",
                               "how data travels",
                               [] { return std::string("stream or keyed"); },
                               [] { return std::string("stream"); },
                               [](std::string_view value, UriOptions* options) {
                                 options->transmission = value == "keyed" ? Transmission::kKeyed
                                                                          : Transmission::kStream;
                                 return value == "stream" || value == "keyed";
                               },
                               "loop"};

template <uint16_t UriOptions::*kField, uint16_t kLargest>
bool SetCount(std::string_view value, UriOptions* options) {
  const std::optional<uint64_t> count = ParseDecimal(value, kLargest);
  options->*kField = static_cast<uint16_t>(count.value_or(0));
  return count.value_or(0) != 0;
}

constexpr Key kQueues = {"queues", "virtqueues to open; fewer when the device has fewer",
                         [] { return absl::StrCat("a number from 1 to ", kMaxQueuesPerInstance); },
                         [] { return std::string("1"); },
                         SetCount<&UriOptions::queues, kMaxQueuesPerInstance>};

constexpr Key kQueueSize = {
    "queue_size", "requests in flight on each",
    [] { return absl::StrCat("a number from 1 to ", kMaxQueueSize, ", in ref a power of two"); },
    [] { return std::string("the most that the target offers; 128 on keyed fabrics"); },
    SetCount<&UriOptions::queue_size, kMaxQueueSize>};

template <Nanoseconds UriOptions::*kField, const DurationRange& kRange>
constexpr Key DurationKey(std::string_view name, std::string_view meaning) {
  return {name, meaning, [] { return AllowedDuration(kRange); },
          [] { return FormatUriDuration(UriOptions().*kField); },
          [](std::string_view value, UriOptions* options) {
            const std::optional<Nanoseconds> duration = ParseUriDuration(value);
            if (!duration.has_value()) return false;
            options->*kField = *duration;
            if (*duration == 0) return kRange.zero_means_none;
            return *duration >= kRange.shortest && *duration <= kRange.longest;
          }};
}

constexpr std::array<Key, 9> kKeys = {{
    kInitiatorName,
    kQueues,
    kQueueSize,
    kDialect,
    DurationKey<&UriOptions::connect_timeout, kConnectTimeoutRange>(
        "connect_timeout", "until the device is ready, all in all"),
    DurationKey<&UriOptions::io_timeout, kIoTimeoutRange>(
        "io_timeout", "until the answer to a request or to a command of a device that is ready"),
    DurationKey<&UriOptions::keepalive, kKeepaliveRange>(
        "keepalive", "between two signs of life, and until the answer to one (v5)"),
    kProvider,
    kTransmission,
}};

const Key* FindKey(std::string_view name) {
  for (const Key& key : kKeys) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

bool Takes(const UriKeyScope& scope, const Key& key) {
  if (scope.listens && !key.for_listeners) return false;
  return scope.scheme.empty() || key.scheme.empty() || key.scheme == scope.scheme;
}

std::string KnownKeys(const UriKeyScope& scope) {
  std::string known;
  for (const Key& key : kKeys) {
    if (!Takes(scope, key)) continue;
    absl::StrAppend(&known, known.empty() ? "" : ", ", std::string(key.name));
  }
  return known.empty() ? "none" : known;
}

absl::Status UnknownKey(std::string_view name, const UriKeyScope& scope) {
  const Key* key = FindKey(name);
  std::string whose;
  if (key != nullptr && scope.listens && !key->for_listeners) {
    whose = ": keys of initiators belong to their URIs, not to where a target listens";
  } else if (key != nullptr) {
    whose = absl::StrCat(", which is for ", std::string(key->scheme), ":// only");
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown key '", std::string(name), "'", whose,
                                                 " (known", scope.listens ? " here" : "", ": ",
                                                 KnownKeys(scope), ")"));
}

absl::Status ParseOption(std::string_view option, const UriKeyScope& scope,
                         std::vector<std::string>* seen, UriOptions* options) {
  const size_t equals = option.find('=');
  const std::optional<std::string> name = PercentDecode(option.substr(0, equals));
  if (!name.has_value()) return UnknownKey(option.substr(0, equals), scope);
  const Key* key = FindKey(*name);
  if (key == nullptr || !Takes(scope, *key)) return UnknownKey(*name, scope);
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
  return SetUriOption(*name, *value, options);
}

}  // namespace

absl::Status SetUriOption(std::string_view name, std::string_view value, UriOptions* options) {
  const Key* key = FindKey(name);
  if (key == nullptr) return UnknownKey(name, {});
  return key->set(value, options) ? absl::OkStatus() : Bad(name, value, key->allowed());
}

absl::Status CheckUriOptions(const UriOptions& options) {
  // A ring of the reference dialect counts its slots by masking.
  if (options.dialect != Dialect::kRef || options.queue_size == 0) return absl::OkStatus();
  if (std::has_single_bit(options.queue_size)) return absl::OkStatus();
  return Bad(kQueueSize.name, absl::StrCat(options.queue_size), kQueueSize.allowed());
}

std::vector<UriKeyHelp> DescribeUriKeys() {
  std::vector<UriKeyHelp> all;
  all.reserve(std::size(kKeys));
  for (const Key& key : kKeys) {
    all.push_back({std::string(key.name), std::string(key.meaning), key.allowed(),
                   key.default_value(), std::string(key.scheme)});
  }
  return all;
}

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
                     static_cast<uint64_t>(kLongestUriDuration / unit.second));
    if (!count.has_value()) return std::nullopt;
    return static_cast<Nanoseconds>(*count) * unit.second;
  }
  return std::nullopt;
}

std::string FormatUriDuration(Nanoseconds duration) {
  constexpr Nanoseconds kHour = 3600 * kNanosecondsPerSecond;
  if (duration != 0 && duration % kHour == 0) return absl::StrCat(duration / kHour, "h");
  if (duration % kNanosecondsPerSecond == 0)
    return absl::StrCat(duration / kNanosecondsPerSecond, "s");
  return absl::StrCat(duration / kNanosecondsPerMillisecond, "ms");
}

absl::Status ParseUriOptions(std::string_view query, const UriKeyScope& scope,
                             UriOptions* options) {
  std::vector<std::string> seen;
  while (!query.empty()) {
    const size_t end = query.find('&');
    const std::string_view option = query.substr(0, end);
    query = end == std::string_view::npos ? std::string_view() : query.substr(end + 1);
    if (option.empty()) continue;
    if (absl::Status s = ParseOption(option, scope, &seen, options); !s.ok()) return s;
  }
  return CheckUriOptions(*options);
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
  if (!options.provider.empty()) add("provider", PercentEncode(options.provider, ";"));
  if (options.transmission == Transmission::kKeyed) add("transmission", "keyed");
  return query;
}

}  // namespace vof
