// SPDX-License-Identifier: Apache-2.0
#include "tools/config/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace vof {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kFull[] = R"(
listener { uri: "tcp://127.0.0.1:0" }
listener { uri: "tcp://[::1]:8549" }
device {
  name: "mem0"
  blk {
    memory { size: "1G" hugepages: "off" }
    serial: "s-1"
    queues: 8
    queue_size: 256
    write_cache: false
  }
}
device { name: "f" blk { file { path: "/srv/a,b=c" direct: true io: "uring" } read_only: true } }
device { name: "n" blk { null { size: "1T" } shared: true block_size: 4096 } }
device { name: "c" other { type: "counter" option { key: "step" value: "2" } } }
plugin { path: "/usr/lib/vof/counter.so" }
reactors { cpus: "0-1" spin_us: 20 }
limits { sessions: 7 queues_per_session: 3 connections: 9 pool_size: "64M"
         handshake_timeout_ms: 500 drain_timeout_ms: 0 registered_size: "1G"
         inline_size: "512" reactor_timeout_ms: 90000 }
log { level: "debug" }
)";

std::string OptionsOf(const DeviceConfig& device) {
  std::string text = device.type + ":";
  for (const DeviceOption& option : device.options) text += " " + option.key + "=" + option.value;
  return text;
}

TEST(ReadConfigTest, FillsEverySetting) {
  TargetConfig config;
  const SettingErrors errors = ReadConfigText(kFull, "t.conf", &config);
  ASSERT_TRUE(errors.empty()) << FormatSettingError(errors[0]);
  ASSERT_EQ(config.listeners.size(), 2u);
  EXPECT_EQ(config.listeners[1].value, "tcp://[::1]:8549");
  ASSERT_EQ(config.devices.size(), 4u);
  EXPECT_EQ(config.devices[0].name.value, "mem0");
  EXPECT_EQ(OptionsOf(config.devices[0]),
            "blk: store=memory size=1G hugepages=off serial=s-1 queues=8 queue_size=256 "
            "write_cache=false");
  EXPECT_EQ(OptionsOf(config.devices[1]),
            "blk: store=file path=/srv/a,b=c direct=true io=uring read_only=true");
  EXPECT_EQ(OptionsOf(config.devices[2]), "blk: store=null size=1T shared=true block_size=4096");
  EXPECT_EQ(OptionsOf(config.devices[3]), "counter: step=2");
  ASSERT_EQ(config.plugins.size(), 1u);
  EXPECT_EQ(config.plugins[0].value, "/usr/lib/vof/counter.so");
  EXPECT_EQ(config.NumReactors(), 2u);
  EXPECT_EQ(config.SpinUs(1), 20u);
  EXPECT_EQ(config.sessions.value, 7u);
  EXPECT_EQ(config.queues_per_session.value, 3u);
  EXPECT_EQ(config.connections.value, 9u);
  EXPECT_EQ(config.pool_bytes.value, 64u << 20);
  EXPECT_EQ(config.registered_bytes.value, 1u << 30);
  EXPECT_EQ(config.inline_bytes.value, 512u);
  EXPECT_EQ(config.handshake_timeout_ms.value, 500u);
  EXPECT_EQ(config.drain_timeout_ms.value, 0u);
  EXPECT_EQ(config.reactor_timeout_ms.value, 90000u);
  EXPECT_EQ(config.log_level.value, "debug");
}

TEST(ReadConfigTest, RemembersWhereEachValueStands) {
  TargetConfig config;
  ASSERT_TRUE(ReadConfigText(kFull, "t.conf", &config).empty());
  EXPECT_EQ(config.listeners[1].where, "t.conf:3:12");
  EXPECT_EQ(config.devices[0].where, "t.conf:4:1");
  EXPECT_EQ(config.devices[0].name.where, "t.conf:5:3");
  EXPECT_EQ(config.devices[0].option_where,
            (std::vector<std::string>{"t.conf:7:5", "t.conf:7:14", "t.conf:7:25", "t.conf:8:5",
                                      "t.conf:9:5", "t.conf:10:5", "t.conf:11:5"}));
  EXPECT_EQ(config.devices[3].option_where, (std::vector<std::string>{"t.conf:16:44"}));
  EXPECT_EQ(config.plugins[0].where, "t.conf:17:1");
  EXPECT_EQ(config.cpus->where, "t.conf:18:12");
  EXPECT_EQ(config.pool_bytes.where, "t.conf:19:59");
  EXPECT_EQ(config.drain_timeout_ms.where, "t.conf:20:36");
  EXPECT_EQ(config.log_level.where, "t.conf:22:7");
}

TEST(ReadConfigTest, EmptyTextKeepsEveryDefault) {
  TargetConfig config;
  EXPECT_TRUE(ReadConfigText("# nothing\n", "t.conf", &config).empty());
  EXPECT_TRUE(config.listeners.empty());
  EXPECT_TRUE(config.devices.empty());
  EXPECT_EQ(config.NumReactors(), 1u);
  EXPECT_EQ(config.pool_bytes.value, kDefaultPoolBytes);
  EXPECT_EQ(config.log_level.value, "info");
}

TEST(ReadConfigTest, AByteOrderMarkIsNoSyntax) {
  TargetConfig config;
  EXPECT_TRUE(ReadConfigText("\xef\xbb\xbf# nothing\n", "t.conf", &config).empty());
  const SettingErrors errors = ReadConfigText("\xef\xbb\xbflisten { }", "t.conf", &config);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].where, "t.conf:1:1");
}

TEST(ReadConfigTest, SyntaxErrorsNameLineColumnAndRemedy) {
  const struct {
    const char* text;
    const char* where;
    const char* message;
  } kCases[] = {
      {"listen { }", "t.conf:1:1: ",
       "unknown field \"listen\"; known: listener, device, plugin, "
       "reactors, limits, log"},
      {"\n  reactors {\n    cores: 2 }", "t.conf:3:5: ",
       "unknown field \"cores\" in reactors; known: count, cpus, busy_poll, spin_us"},
      {"device { blk { file { size: \"1G\" hugepages: true } } }",
       "t.conf:1:34: ", "unknown field \"hugepages\" in file; known: path, size, direct, io"},
      {"device { blk { memory { size: 1024 } } }", "t.conf:1:31: ", "written in quotes"},
      {"device { blk { memory { size: 1G } } }", "t.conf:1:32: ", "written in quotes"},
      {"reactors { count: 1 count: 2 }", "t.conf:1:26: ", "specified multiple times"},
      {"reactors { } reactors { }", "t.conf:1:", "specified multiple times"},
      {"reactors { count: -1 }", "t.conf:1:19: ", "count is a whole number from 1 to 256"},
      {"reactors { count: 99999999999 }", "t.conf:1:19: ", "out of range"},
      {"reactors { count: 99999999999 }", "t.conf:1:19: ", "from 1 to 256"},
      {"device { blk {\n queues : -1 } }", "t.conf:2:", "queues is a whole number from 1 to 256"},
      {"reactors { busy_poll: maybe }", "t.conf:1:", "busy_poll"},
      {"reactors { busy_poll: maybe }", "t.conf:1:", "true or false"},
      {"device { blk { read_only: \"yes\" } }", "t.conf:1:", "write true or false"},
      {"device { blk { memory { } file { } } }", "t.conf:1:", "another member of oneof \"store\""},
      {"log { level: \"x }\n", "t.conf:1:", "String literals cannot cross line boundaries"},
      {"log { level: \"info\"", "t.conf:1:20: ", "the file ends inside a block"},
      {"device { name: \"d\"", "t.conf:1:19: ", "the file ends inside a block"},
      {"log { level:", "t.conf:1:13: ", "the file ends inside a block or a value"},
      {"log", "t.conf:1:4: ", "the file ends inside a block"},
      {"log { level: \"info\" } }", "t.conf:1:23: ", ""},
      {"limits { 3: 5 }", "t.conf:1:10: ", "Expected identifier"},
      {"[vof.config.Blk] { }", "t.conf:1:", ""},
      {"device { blk { } other { } }", "t.conf:1:", "another member of oneof \"model\""},
  };
  for (const auto& c : kCases) {
    TargetConfig config;
    const SettingErrors errors = ReadConfigText(c.text, "t.conf", &config);
    ASSERT_FALSE(errors.empty()) << c.text;
    EXPECT_THAT(FormatSettingError(errors[0]), StartsWith(c.where)) << c.text;
    EXPECT_THAT(FormatSettingError(errors[0]), HasSubstr(c.message)) << c.text;
  }
}

TEST(ReadConfigTest, BadSizesAndCpuListsAreKeptWithTheirPlaces) {
  TargetConfig config;
  ASSERT_TRUE(ReadConfigText("reactors { cpus: \"3-1\" }\nlimits {\n  pool_size: \"1X\"\n}",
                             "t.conf", &config)
                  .empty());
  const SettingErrors& errors = config.unreadable;
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_THAT(FormatSettingError(errors[0]),
              StartsWith("t.conf:1:12: \"3-1\" is not a list of CPUs"));
  EXPECT_THAT(FormatSettingError(errors[1]), StartsWith("t.conf:3:3: \"1X\" is not a size"));
}

TEST(ReadConfigTest, ArbitraryBytesNeverPassAndNeverCrash) {
  const std::string text = kFull;
  for (size_t cut = 0; cut < text.size(); ++cut) {
    TargetConfig config;
    ReadConfigText(text.substr(0, cut) + "\xff\x01", "t.conf", &config);
    TargetConfig second;
    ReadConfigText(text.substr(0, cut), "t.conf", &second);
  }
  TargetConfig config;
  EXPECT_FALSE(ReadConfigText(std::string("\0\0\0", 3), "t.conf", &config).empty());
  EXPECT_FALSE(ReadConfigText(std::string(100'000, '{'), "t.conf", &config).empty());
}

TEST(ReadConfigFileTest, NamesTheFileAndTheReason) {
  TargetConfig config;
  EXPECT_EQ(FormatSettingError(ReadConfigFile("/nonexistent.conf", &config).at(0)),
            "/nonexistent.conf: cannot open: No such file or directory");
  EXPECT_EQ(FormatSettingError(ReadConfigFile("/tmp", &config).at(0)),
            "/tmp: cannot read: Is a directory");
  EXPECT_THAT(FormatSettingError(ReadConfigFile("/dev/zero", &config).at(0)),
              HasSubstr("is larger than 1M"));
}

TEST(FormatConfigTest, IsReadBackToTheSameText) {
  TargetConfig config;
  ASSERT_TRUE(ReadConfigText(kFull, "t.conf", &config).empty());
  const std::string text = FormatConfig(config, 4);
  TargetConfig again;
  const SettingErrors errors = ReadConfigText(text, "again", &again);
  ASSERT_TRUE(errors.empty()) << FormatSettingError(errors[0]) << "\n" << text;
  EXPECT_EQ(FormatConfig(again, 4), text);
  ASSERT_EQ(again.devices.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(again.devices[i].type, config.devices[i].type);
    EXPECT_EQ(again.devices[i].options.size(), config.devices[i].options.size());
  }
  EXPECT_THAT(text, HasSubstr("path: \"/srv/a,b=c\""));
}

TEST(FormatConfigTest, ShowsTheDefaults) {
  const std::string text = FormatConfig(TargetConfig(), 4);
  EXPECT_THAT(text, HasSubstr("spin_us: 50"));
  EXPECT_THAT(text, HasSubstr("pool_size: \"128M\""));
  EXPECT_THAT(text, HasSubstr("registered_size: \"0\""));
  EXPECT_THAT(text, HasSubstr("inline_size: \"4160\""));
  EXPECT_THAT(text, HasSubstr("drain_timeout_ms: 10000"));
  EXPECT_THAT(text, HasSubstr("reactor_timeout_ms: 60000"));
  EXPECT_THAT(FormatConfig(TargetConfig(), 1), HasSubstr("spin_us: 0"));
}

}  // namespace
}  // namespace vof
