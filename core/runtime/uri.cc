// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/uri.h"

#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/runtime/uri_options.h"
#include "core/runtime/uri_text.h"
#include "core/wire/utf8.h"

namespace vof {
namespace {

constexpr size_t kMaxNameBytes = kVqnFieldBytes - 1;

absl::Status Bad(std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("bad URI '", std::string(text), "': ", std::string(why)));
}

bool IsSchemeChar(char c, bool first) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  const bool other = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  return letter || (!first && other);
}

// What a URI should have looked like.
constexpr std::string_view kDeviceForm =
    "expected SCHEME://HOST[:PORT]/NAME, for example tcp://192.0.2.1/disk0";
constexpr std::string_view kListenerForm =
    "expected SCHEME://HOST[:PORT], for example tcp://0.0.0.0:8549";

absl::Status ParseScheme(std::string_view text, std::string_view form, std::string_view* rest,
                         std::string* scheme) {
  const size_t end = text.find("://");
  if (end == std::string_view::npos || end == 0) return Bad(text, form);
  for (size_t i = 0; i < end; ++i) {
    if (!IsSchemeChar(text[i], i == 0))
      return Bad(text, "a scheme has letters, digits, '+', '-' and '.'");
    scheme->push_back(LowerCase(text[i]));
  }
  *rest = text.substr(end + 3);
  return absl::OkStatus();
}

absl::Status ParsePort(std::string_view text, std::string_view digits, Uri* uri) {
  const std::optional<uint64_t> port = ParseDecimal(digits, std::numeric_limits<uint16_t>::max());
  if (!port.has_value()) {
    return Bad(text,
               absl::StrCat("port '", std::string(digits), "' is not a number from 0 to 65535"));
  }
  uri->port = static_cast<uint16_t>(*port);
  uri->has_port = true;
  return absl::OkStatus();
}

// fe80::/10: such an address is on every link, so it says nothing without an interface.
bool IsLinkLocal(std::string_view address) {
  return address.size() > 4 && address[4] == ':' && HexDigit(address[0]) == 0xf &&
         HexDigit(address[1]) == 0xe && HexDigit(address[2]) >= 8 && HexDigit(address[2]) <= 0xb;
}

// The scope of an address, "%eth0" or escaped "%25eth0"; `host` is what stands between the
// brackets.
absl::StatusOr<std::string> ParseBracketed(std::string_view text, std::string_view host) {
  const size_t percent = host.find('%');
  const std::string_view address = host.substr(0, percent);
  if (address.find(':') == std::string_view::npos) {
    return Bad(text, "only an IPv6 address goes into brackets");
  }
  for (const char c : address) {
    const bool hex = HexDigit(c) >= 0;
    if (!hex && c != ':' && c != '.')
      return Bad(text, "an IPv6 address has digits, 'a' to 'f', ':' and '.'");
  }
  if (percent == std::string_view::npos && IsLinkLocal(host)) {
    return Bad(text,
               absl::StrCat("a link-local address needs its interface: add %INTERFACE, as in [",
                            std::string(host), "%eth0]"));
  }
  if (percent == std::string_view::npos) return std::string(host);
  std::string_view scope = host.substr(percent + 1);
  // RFC 6874 writes the '%' of a scope as %25; people paste it as `ip address` prints it.
  if (scope.size() > 2 && scope.substr(0, 2) == "25") scope.remove_prefix(2);
  std::optional<std::string> decoded = PercentDecode(scope);
  if (!decoded.has_value() || decoded->empty())
    return Bad(text, "the scope after '%' is empty or badly escaped");
  return absl::StrCat(std::string(address), "%", *decoded);
}

absl::Status ParseAuthority(std::string_view text, std::string_view authority, Uri* uri) {
  if (authority.find('@') != std::string_view::npos) {
    return Bad(text, "a user before '@' means nothing here");
  }
  if (!authority.empty() && authority[0] == '[') {
    const size_t end = authority.find(']');
    if (end == std::string_view::npos) return Bad(text, "'[' without ']'");
    absl::StatusOr<std::string> host = ParseBracketed(text, authority.substr(1, end - 1));
    if (!host.ok()) return host.status();
    uri->host = *std::move(host);
    const std::string_view after = authority.substr(end + 1);
    if (after.empty()) return absl::OkStatus();
    if (after[0] != ':') return Bad(text, "after ']' comes ':PORT' or '/'");
    return ParsePort(text, after.substr(1), uri);
  }
  const size_t colon = authority.find(':');
  if (colon != authority.rfind(':')) {
    return Bad(text, "an IPv6 address goes into brackets, as in [::1]:8549");
  }
  std::optional<std::string> host = PercentDecode(authority.substr(0, colon));
  if (!host.has_value())
    return Bad(text, "'%' in the host is not followed by two hexadecimal digits");
  uri->host = *std::move(host);
  if (colon == std::string_view::npos) return absl::OkStatus();
  return ParsePort(text, authority.substr(colon + 1), uri);
}

absl::Status ParseName(std::string_view text, std::string_view path, Uri* uri) {
  std::optional<std::string> name = PercentDecode(path);
  if (!name.has_value()) {
    return Bad(text,
               "'%' in the name is not followed by two hexadecimal digits; write %25 for '%'");
  }
  if (name->find('\0') != std::string::npos) return Bad(text, "a name has no NUL byte");
  if (!IsUtf8(*name)) return Bad(text, "a name is UTF-8, and this one is not");
  if (name->size() > kMaxNameBytes) {
    return Bad(text,
               absl::StrCat("the name has ", name->size(), " bytes; the limit is ", kMaxNameBytes));
  }
  uri->name = *std::move(name);
  return absl::OkStatus();
}

absl::StatusOr<Uri> Parse(std::string_view text, std::string_view form, bool listens) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte == 0x7f)
      return Bad(text, "blanks and control characters are written as escapes, %20");
  }
  if (text.find('#') != std::string_view::npos) return Bad(text, "'#' is written as %23");
  Uri uri;
  std::string_view rest;
  if (absl::Status s = ParseScheme(text, form, &rest, &uri.scheme); !s.ok()) return s;
  const size_t question = rest.find('?');
  const std::string_view query =
      question == std::string_view::npos ? std::string_view() : rest.substr(question + 1);
  rest = rest.substr(0, question);
  const size_t slash = rest.find('/');
  if (absl::Status s = ParseAuthority(text, rest.substr(0, slash), &uri); !s.ok()) return s;
  if (slash != std::string_view::npos) {
    if (absl::Status s = ParseName(text, rest.substr(slash + 1), &uri); !s.ok()) return s;
  }
  if (absl::Status s = ParseUriOptions(query, {uri.scheme, listens}, &uri.options); !s.ok())
    return Bad(text, std::string_view(s.message().data(), s.message().size()));
  return uri;
}

// Within one process no host is needed. Elsewhere nobody could connect to what is printed then.
bool ListensNowhere(const Uri& uri) {
  return uri.host == "*" || (uri.host.empty() && uri.scheme != "loop");
}

}  // namespace

absl::StatusOr<Uri> ParseUri(std::string_view text) { return Parse(text, kDeviceForm, false); }

absl::StatusOr<Uri> ParseListenerUri(std::string_view text) {
  absl::StatusOr<Uri> uri = Parse(text, kListenerForm, true);
  if (!uri.ok() || !ListensNowhere(*uri)) return uri;
  const std::string every = absl::StrCat(uri->scheme, "://0.0.0.0:", uri->port);
  return Bad(text, absl::StrCat("it names no address to listen on; ", every,
                                " is every IPv4 address of this machine"));
}

std::string FormatUri(const Uri& uri) {
  std::string text = absl::StrCat(uri.scheme, "://");
  if (uri.host.find(':') != std::string::npos) {
    const size_t percent = uri.host.find('%');
    absl::StrAppend(&text, "[", uri.host.substr(0, percent));
    if (percent != std::string::npos) {
      absl::StrAppend(&text, "%25", PercentEncode(uri.host.substr(percent + 1), ""));
    }
    text += "]";
  } else {
    text += PercentEncode(uri.host, "");
  }
  if (uri.has_port || uri.port != kDefaultPort) absl::StrAppend(&text, ":", uri.port);
  const std::string query = FormatUriOptions(uri.options);
  if (!uri.name.empty() || uri.host.empty() || !query.empty()) {
    absl::StrAppend(&text, "/", PercentEncode(uri.name, "/:@!$'()*,;=&+"));
  }
  if (!query.empty()) absl::StrAppend(&text, "?", query);
  return text;
}

std::string FormatUriBare(const Uri& uri) {
  Uri bare = uri;
  bare.options = UriOptions{};
  bare.options.provider = uri.options.provider;
  return FormatUri(bare);
}

}  // namespace vof
