// SPDX-License-Identifier: Apache-2.0
#include "tools/config/config_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "tools/config/config_file.h"

namespace vof {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class FakeBackend final : public Backend {
 public:
  std::string_view scheme() const override { return "tcp"; }
  absl::StatusOr<std::unique_ptr<Listener>> Listen(const Uri&, Reactor*, AcceptHandler) override {
    return absl::UnimplementedError("never called: a check opens nothing");
  }
  absl::StatusOr<std::unique_ptr<Link>> Dial(const Uri&, MonotonicTime) override {
    return absl::UnimplementedError("never called: a check opens nothing");
  }
};

class FakeBlk final : public DeviceFactory {
 public:
  std::string_view type() const override { return "blk"; }
  std::vector<DeviceOptionHelp> options() const override {
    return {{"store", ""}, {"size", ""}, {"serial", ""}};
  }
  std::optional<DeviceOptionProblem> Check(const DeviceOptionList& options) const override {
    for (const DeviceOption& option : options) {
      if (option.value == "bad") return DeviceOptionProblem{option.key, "is bad"};
    }
    if (options.empty()) return DeviceOptionProblem{"", "needs options"};
    return std::nullopt;
  }
  absl::StatusOr<std::shared_ptr<Device>> Make(std::string_view,
                                               const DeviceOptionList&) const override {
    return absl::UnimplementedError("never called: a check opens nothing");
  }
};

SettingErrors CheckText(std::string_view text) {
  BackendRegistry backends;
  backends.Add(std::make_unique<FakeBackend>());
  DeviceFactoryRegistry factories;
  EXPECT_TRUE(factories.Add(std::make_unique<FakeBlk>()).ok());
  TargetConfig config;
  SettingErrors errors = ReadConfigText(text, "t.conf", &config);
  if (errors.empty()) errors = CheckTargetConfig(config, backends, factories);
  return errors;
}

std::string Joined(const SettingErrors& errors) {
  std::string text;
  for (const SettingError& error : errors) text += FormatSettingError(error) + "\n";
  return text;
}

constexpr char kListener[] = "listener { uri: \"tcp://127.0.0.1:0\" }\n";
constexpr char kDevice[] = "device { name: \"d\" blk { memory { size: \"1G\" } } }\n";

TEST(CheckTargetConfigTest, AcceptsTheSmallestUsefulOne) {
  EXPECT_EQ(Joined(CheckText(std::string(kListener) + kDevice)), "");
}

TEST(CheckTargetConfigTest, AsksForListenersAndDevices) {
  const std::string errors = Joined(CheckText(""));
  EXPECT_THAT(errors, HasSubstr("there is no listener"));
  EXPECT_THAT(errors, HasSubstr("there is no device"));
}

TEST(CheckTargetConfigTest, ListenerErrorsAreLocated) {
  const struct {
    const char* text;
    const char* error;
  } kCases[] = {
      {"listener { }", "t.conf:2:1: a listener needs a uri"},
      {"listener { uri: \"rdma://x\" }", "t.conf:2:12: "},
      {"listener { uri: \"tcp://x:99999\" }", "t.conf:2:12: "},
      {"listener { uri: \"tcp://:8550\" }",
       "t.conf:2:12: bad URI 'tcp://:8550': it names no address"},
      {"listener { uri: \"nonsense\" }",
       "t.conf:2:12: bad URI 'nonsense': expected SCHEME://HOST[:PORT], for example "
       "tcp://0.0.0.0:8549\n"},
      {"listener { uri: \"tcp://127.0.0.1/disk\" }",
       "t.conf:2:12: \"tcp://127.0.0.1/disk\" names a "
       "device"},
      {"listener { uri: \"tcp://127.0.0.1/?queues=2\" }",
       "t.conf:2:12: bad URI 'tcp://127.0.0.1/?queues=2': unknown key 'queues': keys of "
       "initiators"},
      {"listener { uri: \"tcp://127.0.0.1/?colour=blue\" }",
       "t.conf:2:12: bad URI 'tcp://127.0.0.1/?colour=blue': unknown key 'colour'"},
  };
  for (const auto& c : kCases) {
    EXPECT_THAT(Joined(CheckText(std::string(kDevice) + c.text)), StartsWith(c.error)) << c.text;
  }
}

TEST(CheckTargetConfigTest, ListenersHaveAddressesOfTheirOwn) {
  const auto errors = [](const char* a, const char* b) {
    return Joined(CheckText(absl::StrCat(kDevice, "listener { uri: \"", a, "\" }\n",
                                         "listener { uri: \"", b, "\" }\n")));
  };
  EXPECT_THAT(errors("tcp://10.0.0.1:9", "tcp://10.0.0.1:9"),
              StartsWith("t.conf:3:12: \"tcp://10.0.0.1:9\" is the address of another listener "
                         "(t.conf:2:12)"));
  EXPECT_THAT(errors("tcp://Host", "tcp://host:8549"), HasSubstr("another listener"));
  EXPECT_EQ(errors("tcp://10.0.0.1:9", "tcp://10.0.0.1:10"), "");
  EXPECT_EQ(errors("tcp://10.0.0.1:9", "tcp://10.0.0.2:9"), "");
  EXPECT_EQ(errors("tcp://10.0.0.1:0", "tcp://10.0.0.1:0"), "");  // the kernel chooses two
}

TEST(CheckTargetConfigTest, DeviceErrorsAreLocated) {
  const std::string long_name(256, 'n');
  const struct {
    std::string text;
    const char* error;
  } kCases[] = {
      {"device { blk { memory { } } }", "t.conf:2:1: a device needs a name"},
      {"device { name: \"" + long_name + "\" blk { null { } } }",
       "t.conf:2:10: the device name has 256 bytes; at most 255"},
      {"device { name: \"a\\000b\" blk { null { } } }", "t.conf:2:10: the device name has a zero"},
      {"device { name: \"\\377\" blk { null { } } }", "t.conf:2:10: the device name is not UTF-8"},
      {"device { name: \"vqn.discovery\" blk { null { } } }", "t.conf:2:10: the name"},
      {"device { name: \"x\" }", "t.conf:2:1: a device needs a type"},
      {"device { name: \"x\" other { type: \"fan\" } }",
       "t.conf:2:1: unknown device type \"fan\"; known: blk"},
      {"device { name: \"x\" blk { null { size: \"bad\" } } }", "t.conf:2:33: size: is bad"},
      {"device { name: \"x\" blk { queues: 2 } }",
       "t.conf:2:26: device type \"blk\" has no option \"queues\"; known: store, size, serial"},
      {"device { name: \"x\" other { type: \"blk\"\n option { key: \"store\" }\n option { key: "
       "\"store\" } } }",
       "t.conf:4:2: \"store\" is given twice"},
      {"device { name: \"x\" blk { } }", "t.conf:2:1: needs options"},
  };
  for (const auto& c : kCases) {
    EXPECT_THAT(Joined(CheckText(kListener + c.text)), StartsWith(c.error)) << c.text;
  }
}

TEST(CheckTargetConfigTest, NamesAreUnique) {
  EXPECT_EQ(Joined(CheckText(std::string(kListener) + kDevice + kDevice)),
            "t.conf:3:10: the name \"d\" is taken already (t.conf:2:10)\n");
}

TEST(CheckTargetConfigTest, RangesNameTheLimit) {
  const struct {
    const char* text;
    const char* error;
  } kCases[] = {
      {"reactors { count: 0 }",
       "t.conf:3:12: the number of reactors is 0; it must be between 1 and 256"},
      {"reactors { count: 257 }", "t.conf:3:12: "},
      {"reactors { spin_us: 1000001 }", "t.conf:3:12: spin_us is 1000001"},
      {"reactors { busy_poll: true spin_us: 5 }",
       "t.conf:3:28: spin_us has no meaning with busy_poll"},
      {"reactors { count: 2 cpus: \"0-2\" }", "t.conf:3:21: cpus lists 3 for 2 reactors"},
      {"reactors { cpus: \"0-300\" }", "t.conf:3:12: cpus lists 301; at most 256"},
      {"limits { sessions: 0 }", "t.conf:3:10: sessions is 0"},
      {"limits { sessions: 4097 }", "t.conf:3:10: sessions is 4097; it must be between 1 and 4096"},
      {"limits { queues_per_session: 257 }", "t.conf:3:10: queues_per_session is 257"},
      {"limits { connections: 16385 }", "t.conf:3:10: connections is 16385"},
      {"limits { handshake_timeout_ms: 0 }", "t.conf:3:10: handshake_timeout_ms is 0"},
      {"limits { drain_timeout_ms: 3600001 }", "t.conf:3:10: drain_timeout_ms is 3600001"},
      {"limits { reactor_timeout_ms: 3600001 }", "t.conf:3:10: reactor_timeout_ms is 3600001"},
      {"limits { reactor_timeout_ms: 999 }", "t.conf:3:10: reactor_timeout_ms is 999"},
      {"limits { pool_size: \"1M\" }",
       "t.conf:3:10: the pool of a reactor is 1M; it must be between 16M"},
      {"limits { pool_size: \"2T\" }", "t.conf:3:10: the pool of a reactor is 2T"},
      {"limits { registered_size: \"65T\" }",
       "t.conf:3:10: registered_size is 65T; it must be between 0 and 64T"},
      {"limits { inline_size: \"8k\" }",
       "t.conf:3:10: inline_size is 8K; it must be between 0 and 4160"},
      {"log { level: \"loud\" }", "t.conf:3:7: unknown log level \"loud\"; known: trace"},
  };
  for (const auto& c : kCases) {
    EXPECT_THAT(Joined(CheckText(std::string(kListener) + kDevice + c.text)), StartsWith(c.error))
        << c.text;
  }
}

TEST(CheckTargetConfigTest, ValuesThatCannotBeReadHideNoOthers) {
  const std::string errors = Joined(
      CheckText("device { name: \"\" blk { null { size: \"bad\" } } }\nreactors { cpus: \"9-1\" }\n"
                "limits { sessions: 0 pool_size: \"1Q\" }"));
  for (const char* error :
       {"t.conf:2:12: \"9-1\" is not a list of CPUs", "t.conf:3:22: \"1Q\" is not a size",
        "there is no listener", "t.conf:1:1: a device needs a name", "t.conf:1:32: size: is bad",
        "t.conf:3:10: sessions is 0"}) {
    EXPECT_THAT(errors, HasSubstr(error));
  }
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 6) << errors;
}

TEST(CheckTargetConfigTest, EveryOptionOfADeviceIsChecked) {
  const std::string option = " option { key: \"size\" value: \"bad\" }\n";
  EXPECT_EQ(
      Joined(CheckText(std::string(kListener) + "device { name: \"x\" other { type: \"blk\"\n" +
                       option + option + " option { key: \"sise\" }\n" +
                       " option { key: \"serial\" value: \"bad\" } } }")),
      "t.conf:4:2: \"size\" is given twice\n"
      "t.conf:5:2: device type \"blk\" has no option \"sise\"; known: store, size, serial\n"
      "t.conf:3:2: size: is bad\n"
      "t.conf:6:2: serial: is bad\n")
      << "and not that a device without them needs options";
}

TEST(CheckTargetConfigTest, TypesOfAPluginThatIsNotThereAreNoErrors) {
  TargetConfig config;
  ASSERT_TRUE(
      ReadConfigText("device { name: \"x\" other { type: \"fan\" } }", "t.conf", &config).empty());
  const SettingErrors errors = CheckTargetConfig(config, {}, {}, KnownTypes::kSome);
  EXPECT_THAT(Joined(errors), StartsWith("there is no listener"));
  EXPECT_EQ(errors.size(), 1u);
}

TEST(CheckTargetConfigTest, AListenerMayHaveTwoErrors) {
  const std::string text = "listener { uri: \"tcp://127.0.0.1/disk?queues=2\" }";
  EXPECT_EQ(CheckText(kDevice + text).size(), 2u);
}

TEST(CheckTargetConfigTest, ReportsEveryErrorAtOnce) {
  EXPECT_EQ(CheckText("listener { } device { } limits { sessions: 0 } log { level: \"x\" }").size(),
            5u);
}

}  // namespace
}  // namespace vof
