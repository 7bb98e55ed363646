// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/uri.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace vof {
namespace {

using testing::HasSubstr;

Uri Parsed(const std::string& text) {
  absl::StatusOr<Uri> uri = ParseUri(text);
  EXPECT_TRUE(uri.ok()) << text << ": " << uri.status();
  return uri.ok() ? *uri : Uri{};
}

std::string ErrorOf(const std::string& text) {
  absl::StatusOr<Uri> uri = ParseUri(text);
  EXPECT_FALSE(uri.ok()) << text;
  return std::string(uri.status().message());
}

TEST(ParseListenerUriTest, ShowsAnAddressWithoutADevice) {
  const absl::StatusOr<Uri> bad = ParseListenerUri("0.0.0.0:8549");
  EXPECT_EQ(bad.status().message(),
            "bad URI '0.0.0.0:8549': expected SCHEME://HOST[:PORT], for example "
            "tcp://0.0.0.0:8549");
  EXPECT_EQ(ParseListenerUri("tcp://[::]:0")->host, "::");
}

TEST(ParseListenerUriTest, NeedsAHostButWithinAProcess) {
  for (const char* text : {"tcp://:8550", "tcp://*:8550", "tcp://:8550/", "ofi://:8550"}) {
    const absl::StatusOr<Uri> bad = ParseListenerUri(text);
    ASSERT_FALSE(bad.ok()) << text;
    EXPECT_THAT(std::string(bad.status().message()), HasSubstr("://0.0.0.0:8550 is every")) << text;
  }
  EXPECT_THAT(std::string(ParseListenerUri("tcp://").status().message()),
              HasSubstr("tcp://0.0.0.0:8549"));
  EXPECT_TRUE(ParseListenerUri("loop:///").ok());
}

TEST(UriTest, HostAndPort) {
  struct Case {
    std::string text;
    std::string host;
    uint16_t port;
    bool has_port;
  };
  const std::vector<Case> cases = {
      {"tcp://192.0.2.1/d", "192.0.2.1", 8549, false},
      {"tcp://192.0.2.1:1/d", "192.0.2.1", 1, true},
      {"tcp://disk.example:65535/d", "disk.example", 65535, true},
      {"tcp://disk.example:0/", "disk.example", 0, true},
      {"tcp://disk.example", "disk.example", 8549, false},
      {"tcp://[::1]/d", "::1", 8549, false},
      {"tcp://[::1]:8549/d", "::1", 8549, true},
      {"tcp://[0:0:0:0:0:0:0:1]:15771/d", "0:0:0:0:0:0:0:1", 15771, true},
      {"tcp://[::ffff:192.0.2.1]/d", "::ffff:192.0.2.1", 8549, false},
      {"tcp://[fe80::1%25eth0]/d", "fe80::1%eth0", 8549, false},
      {"tcp://[fe80::1%eth0]:9/d", "fe80::1%eth0", 9, true},
      {"tcp://[fe80::1%2]/d", "fe80::1%2", 8549, false},
      {"tcp://[fe80::1%25]/d", "fe80::1%25", 8549, false},  // an interface named 25
      {"tcp://[fe80::1%252]/d", "fe80::1%2", 8549, false},
      {"tcp://[fe80::1%25br%2d0]/d", "fe80::1%br-0", 8549, false},
      {"tcp://:8549/", "", 8549, true},
      {"loop:///d", "", 8549, false},
      {"loop://a%20b/d", "a b", 8549, false},
  };
  for (const Case& c : cases) {
    const Uri uri = Parsed(c.text);
    EXPECT_EQ(uri.host, c.host) << c.text;
    EXPECT_EQ(uri.port, c.port) << c.text;
    EXPECT_EQ(uri.has_port, c.has_port) << c.text;
  }
}

TEST(UriTest, SchemeIsLowerCase) {
  EXPECT_EQ(Parsed("TCP://h/d").scheme, "tcp");
  EXPECT_EQ(Parsed("x+y-z.1://h/d").scheme, "x+y-z.1");
}

TEST(UriTest, NameIsAllAfterTheFirstSlashDecodedOnce) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"tcp://h/", ""},
      {"tcp://h", ""},
      {"tcp://h/disk0", "disk0"},
      {"tcp://h/virtio-target/block/block0.service", "virtio-target/block/block0.service"},
      {"tcp://h//d", "/d"},
      {"tcp://h/d/", "d/"},
      {"tcp://h/disk%200", "disk 0"},
      {"tcp://h/a%2Fb%2fc", "a/b/c"},
      {"tcp://h/50%25", "50%"},
      {"tcp://h/%2541", "%41"},
      {"tcp://h/a:b@c", "a:b@c"},
      {"tcp://h/%3Fnot%23query", "?not#query"},
      {"tcp://h/%C3%BC", "\xc3\xbc"},
      {"tcp://h/\xc3\xbc", "\xc3\xbc"},
      {"tcp://h/d+e", "d+e"},
      {"tcp://h/d?queues=1", "d"},
      {"loop:///d", "d"},
      {"loop://?queues=1", ""},
  };
  for (const auto& [text, name] : cases) EXPECT_EQ(Parsed(text).name, name) << text;
  EXPECT_EQ(Parsed("tcp://h/" + std::string(255, 'x')).name.size(), 255u);
  EXPECT_THAT(ErrorOf("tcp://h/" + std::string(256, 'x')),
              HasSubstr("256 bytes; the limit is 255"));
}

TEST(UriTest, OptionsHaveDefaults) {
  const UriOptions options = Parsed("tcp://h/d").options;
  EXPECT_EQ(options.initiator_name, "");
  EXPECT_EQ(options.queues, 0);
  EXPECT_EQ(options.queue_size, 0);
  EXPECT_EQ(options.dialect, Dialect::kV5);
  EXPECT_EQ(options.connect_timeout, 10 * kNanosecondsPerSecond);
  EXPECT_EQ(options.io_timeout, 30 * kNanosecondsPerSecond);
  EXPECT_EQ(options.keepalive, 10 * kNanosecondsPerSecond);
}

TEST(UriTest, EveryKey) {
  const UriOptions options =
      Parsed(
          "tcp://h/d?ivqn=me%26you&queues=4&queue_size=128&dialect=ref&connect_timeout=500ms"
          "&io_timeout=2m&keepalive=3")
          .options;
  EXPECT_EQ(options.initiator_name, "me&you");
  EXPECT_EQ(options.queues, 4);
  EXPECT_EQ(options.queue_size, 128);
  EXPECT_EQ(options.dialect, Dialect::kRef);
  EXPECT_EQ(options.connect_timeout, Milliseconds(500));
  EXPECT_EQ(options.io_timeout, 120 * kNanosecondsPerSecond);
  EXPECT_EQ(options.keepalive, 3 * kNanosecondsPerSecond);
}

TEST(UriTest, Durations) {
  const std::vector<std::pair<std::string, Nanoseconds>> good = {
      {"0", 0},
      {"0s", 0},
      {"500ms", Milliseconds(500)},
      {"10s", 10 * kNanosecondsPerSecond},
      {"2m", 120 * kNanosecondsPerSecond},
      {"24h", 24 * 3600 * kNanosecondsPerSecond},
      {"7", 7 * kNanosecondsPerSecond},
  };
  for (const auto& [text, value] : good) {
    EXPECT_EQ(Parsed("tcp://h/d?io_timeout=" + text).options.io_timeout, value) << text;
  }
  for (const char* bad : {"", "s", "ms", "-1s", "+1s", "1.5s", "1 s", "10S", "10us", "25h", "0x10",
                          "99999999999999999999s", "18446744073709551615ms", "1s1"}) {
    EXPECT_THAT(ErrorOf("tcp://h/d?io_timeout=" + std::string(bad)),
                testing::AnyOf(HasSubstr("500ms, 10s or 2m"), HasSubstr("blanks")))
        << bad;
  }
  EXPECT_THAT(ErrorOf("tcp://h/d?connect_timeout=0"), HasSubstr("not 0"));
}

TEST(UriTest, KeepaliveHasARange) {
  EXPECT_EQ(Parsed("tcp://h/d?keepalive=0").options.keepalive, 0);
  EXPECT_EQ(Parsed("tcp://h/d?keepalive=100ms").options.keepalive, Milliseconds(100));
  EXPECT_EQ(Parsed("tcp://h/d?keepalive=1h").options.keepalive, Milliseconds(kMaxKeepaliveMs));
  EXPECT_THAT(ErrorOf("tcp://h/d?keepalive=99ms"), HasSubstr("from 100ms to 1h, or 0 for none"));
  EXPECT_THAT(ErrorOf("tcp://h/d?keepalive=2h"), HasSubstr("from 100ms to 1h"));
}

// What help and documents say of a key is what the parser takes.
TEST(UriTest, EveryKeyIsDescribed) {
  const std::vector<UriKeyHelp> keys = DescribeUriKeys();
  ASSERT_EQ(keys.size(), 9u);
  for (const UriKeyHelp& key : keys) {
    const std::string device = (key.scheme.empty() ? "tcp" : key.scheme) + "://h/d";
    EXPECT_FALSE(key.meaning.empty()) << key.name;
    EXPECT_THAT(ErrorOf(device + "?" + key.name + "="), HasSubstr(key.allowed));
    const bool is_value = key.default_value.find(' ') == std::string::npos;
    if (!is_value) continue;
    const std::string text = device + "?" + key.name + "=" + key.default_value;
    const bool same_as_absent = FormatUri(Parsed(text)) == device;
    EXPECT_TRUE(same_as_absent || key.name == "queues") << text;
  }
}

TEST(UriTest, UnknownKeyListsTheKnownOnes) {
  const std::string error = ErrorOf("tcp://h/d?queue=4");
  EXPECT_THAT(error, HasSubstr("unknown key 'queue'"));
  for (const char* key :
       {"ivqn", "queues", "queue_size", "dialect", "connect_timeout", "io_timeout", "keepalive"}) {
    EXPECT_THAT(error, HasSubstr(key));
  }
}

TEST(UriTest, BadValuesSayWhatIsAllowed) {
  EXPECT_THAT(ErrorOf("tcp://h/d?dialect=v4"), HasSubstr("v5 or ref"));
  EXPECT_THAT(ErrorOf("tcp://h/d?queues=0"), HasSubstr("1 to 256"));
  EXPECT_THAT(ErrorOf("tcp://h/d?queues=257"), HasSubstr("1 to 256"));
  EXPECT_THAT(ErrorOf("tcp://h/d?queues=4x"), HasSubstr("1 to 256"));
  EXPECT_THAT(ErrorOf("tcp://h/d?queue_size=4097"), HasSubstr("1 to 4096"));
  EXPECT_THAT(ErrorOf("tcp://h/d?queues"), HasSubstr("has no value"));
  EXPECT_THAT(ErrorOf("tcp://h/d?queues=1&queues=2"), HasSubstr("appears twice"));
  EXPECT_THAT(ErrorOf("tcp://h/d?ivqn="), HasSubstr("1 to 255 bytes"));
  EXPECT_THAT(ErrorOf("tcp://h/d?ivqn=" + std::string(256, 'x')), HasSubstr("1 to 255 bytes"));
  EXPECT_THAT(ErrorOf("tcp://h/d?ivqn=a%00b"), HasSubstr("without NUL"));
  for (const char* name : {"%ff", "a%c3", "%c0%8a", "%ed%a0%80"}) {
    EXPECT_THAT(ErrorOf(std::string("tcp://h/d?ivqn=") + name), HasSubstr("in UTF-8"));
  }
  EXPECT_THAT(ErrorOf("tcp://h/d?ivqn=%4"), HasSubstr("hexadecimal"));
}

TEST(UriTest, QueueSizesOfRefArePowersOfTwo) {
  for (const char* query : {"queue_size=3&dialect=ref", "dialect=ref&queue_size=4095"}) {
    EXPECT_THAT(ErrorOf(std::string("tcp://h/d?") + query),
                HasSubstr("expected a number from 1 to 4096, in ref a power of two"));
  }
  for (const char* query : {"dialect=ref&queue_size=1", "dialect=ref&queue_size=4096",
                            "queue_size=3", "queue_size=3&dialect=v5", "dialect=ref"}) {
    Parsed(std::string("tcp://h/d?") + query);
  }
}

TEST(UriTest, FlagsAreHeldToTheRulesOfTheirKeys) {
  UriOptions options = Parsed("tcp://h/d?queue_size=3").options;
  EXPECT_TRUE(CheckUriOptions(options).ok());
  EXPECT_TRUE(SetUriOption("dialect", "ref", &options).ok());
  EXPECT_THAT(std::string(CheckUriOptions(options).message()), HasSubstr("a power of two"));
  EXPECT_TRUE(SetUriOption("ivqn", "\u00fc%zz", &options).ok());
  EXPECT_EQ(options.initiator_name, "\u00fc%zz");
  for (const std::string& name :
       {std::string(), std::string("\xff"), std::string("a\0b", 3), std::string(256, 'x')}) {
    EXPECT_THAT(std::string(SetUriOption("ivqn", name, &options).message()),
                HasSubstr("in UTF-8 of 1 to 255 bytes without NUL"));
  }
  EXPECT_THAT(std::string(SetUriOption("colour", "blue", &options).message()),
              HasSubstr("known: ivqn"));
}

TEST(ParseListenerUriTest, TakesTheKeysOfListenersOnly) {
  EXPECT_EQ(ParseListenerUri("ofi://h:0?provider=shm")->options.provider, "shm");
  EXPECT_THAT(std::string(ParseListenerUri("ofi://h:0?queues=2").status().message()),
              AllOf(HasSubstr("unknown key 'queues': keys of initiators"),
                    HasSubstr("known here: provider")));
  EXPECT_THAT(std::string(ParseListenerUri("tcp://h:0?queues=2").status().message()),
              HasSubstr("known here: none"));
  EXPECT_THAT(std::string(ParseListenerUri("tcp://h:0?provider=tcp").status().message()),
              HasSubstr("unknown key 'provider', which is for ofi:// only (known here: none)"));
  EXPECT_THAT(std::string(ParseListenerUri("ofi://h:0?provder=tcp").status().message()),
              HasSubstr("unknown key 'provder' (known here: provider)"));
}

TEST(UriTest, BareUriSaysWhereADeviceIsAndNoMore) {
  EXPECT_EQ(FormatUriBare(Parsed("ofi://h:1/d?provider=shm&queues=4&ivqn=me")),
            "ofi://h:1/d?provider=shm");
  EXPECT_EQ(FormatUriBare(Parsed("tcp://h/d?queues=4")), "tcp://h/d");
}

TEST(UriTest, KeysOfOneSchemeAreRefusedInOthers) {
  const Uri ofi = Parsed("ofi://h/d?provider=tcp;ofi_rxm");
  EXPECT_EQ(ofi.options.provider, "tcp;ofi_rxm");
  EXPECT_EQ(FormatUri(ofi), "ofi://h/d?provider=tcp;ofi_rxm");
  const Uri loop = Parsed("loop:///d?transmission=keyed");
  EXPECT_EQ(loop.options.transmission, Transmission::kKeyed);
  EXPECT_EQ(FormatUri(loop), "loop:///d?transmission=keyed");
  EXPECT_THAT(ErrorOf("tcp://h/d?provider=tcp"),
              AllOf(HasSubstr("unknown key 'provider', which is for ofi:// only"),
                    HasSubstr("keepalive)")));
  EXPECT_THAT(ErrorOf("ofi://h/d?transmission=keyed"), HasSubstr("for loop:// only"));
  EXPECT_THAT(ErrorOf("ofi://h/d?colour=blue"), HasSubstr("keepalive, provider)"));
  EXPECT_THAT(ErrorOf("ofi://h/d?provider=a%20b"), HasSubstr("a name such as tcp or shm"));
  EXPECT_THAT(ErrorOf("loop:///d?transmission=ring"), HasSubstr("stream or keyed"));
}

TEST(UriTest, EmptyOptionsAreSkipped) {
  EXPECT_EQ(Parsed("tcp://h/d?").options.queues, 0);
  EXPECT_EQ(Parsed("tcp://h/d?&queues=2&").options.queues, 2);
}

TEST(UriTest, Malformed) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "expected SCHEME://"},
      {"tcp", "expected SCHEME://"},
      {"tcp:/h/d", "expected SCHEME://"},
      {"://h/d", "expected SCHEME://"},
      {"1tcp://h/d", "a scheme has"},
      {"t_p://h/d", "a scheme has"},
      {"tcp://h:65536/d", "port '65536'"},
      {"tcp://h:/d", "port ''"},
      {"tcp://h:-1/d", "port '-1'"},
      {"tcp://h:+1/d", "port '+1'"},
      {"tcp://h:80x/d", "port '80x'"},
      {"tcp://h:0x50/d", "port '0x50'"},
      {"tcp://h:99999999999999999999/d", "port"},
      {"tcp://::1/d", "into brackets"},
      {"tcp://fe80::1:8549/d", "into brackets"},
      {"tcp://[::1/d", "'[' without ']'"},
      {"tcp://[::1]8549/d", "after ']'"},
      {"tcp://[::1]:/d", "port ''"},
      {"tcp://[]/d", "IPv6"},
      {"tcp://[host]/d", "IPv6"},
      {"tcp://[::g]/d", "IPv6"},
      {"tcp://[::1%]/d", "scope"},
      {"tcp://[fe80::1%25%zz]/d", "scope"},
      {"tcp://[fe80::1]:1/d", "add %INTERFACE, as in [fe80::1%eth0]"},
      {"tcp://[FEBf:0::1]/d", "add %INTERFACE"},
      {"tcp://user@h/d", "'@'"},
      {"tcp://h%/d", "host"},
      {"tcp://h/d%", "name"},
      {"tcp://h/d%2", "name"},
      {"tcp://h/d%zz", "name"},
      {"tcp://h/a%00b", "NUL"},
      {"tcp://h/a b", "%20"},
      {"tcp://h/a\tb", "%20"},
      {"tcp://h/a#b", "%23"},
      {std::string("tcp://h/a\0b", 11), "%20"},
  };
  for (const auto& [text, why] : cases) EXPECT_THAT(ErrorOf(text), HasSubstr(why)) << text;
}

TEST(UriTest, FormatIsReadBackTheSame) {
  for (const char* text : {
           "tcp://192.0.2.1/disk0",
           "tcp://[::1]:8549/disk%200",
           "tcp://[fe80::1%25eth0]:1/virtio-target/block/block0.service",
           "loop:///d",
           "loop:///",
           "tcp://h/50%25%3F%23",
           "tcp://h:0",
           "tcp://:8549/",
           "tcp://h//d",
           "tcp://h/d?ivqn=me%26you%3D&queues=4&queue_size=128&dialect=ref"
           "&connect_timeout=500ms&io_timeout=0s&keepalive=120s",
       }) {
    const Uri uri = Parsed(text);
    const std::string formatted = FormatUri(uri);
    const Uri again = Parsed(formatted);
    EXPECT_EQ(again.scheme, uri.scheme) << text;
    EXPECT_EQ(again.host, uri.host) << text;
    EXPECT_EQ(again.port, uri.port) << text;
    EXPECT_EQ(again.has_port, uri.has_port) << text;
    EXPECT_EQ(again.name, uri.name) << text;
    EXPECT_EQ(FormatUri(again), formatted) << text;
    EXPECT_EQ(again.options.initiator_name, uri.options.initiator_name);
    EXPECT_EQ(again.options.io_timeout, uri.options.io_timeout);
  }
  EXPECT_EQ(FormatUri(Parsed("TCP://[::1]:8549/disk%200?queues=4")),
            "tcp://[::1]:8549/disk%200?queues=4");
}

TEST(UriTest, EveryNameByteSurvives) {
  Uri uri;
  uri.scheme = "tcp";
  uri.host = "h";
  for (int c = 1; c < 128; ++c) {
    uri.name = std::string("a") + static_cast<char>(c) + "b";
    EXPECT_EQ(Parsed(FormatUri(uri)).name, uri.name) << c;
  }
}

TEST(UriTest, NamesAreUtf8) {
  const absl::StatusOr<Uri> uri = ParseUri("tcp://host/%ff");
  EXPECT_EQ(uri.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(uri.status().message().find("UTF-8"), absl::string_view::npos);
  EXPECT_TRUE(ParseUri("tcp://host/%c3%bc").ok());
}

}  // namespace
}  // namespace vof
