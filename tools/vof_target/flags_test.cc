// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace vof {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Outcome {
  std::optional<ExitCode> done;
  TargetFlags flags;
  std::string out;
  std::string err;
};

Outcome Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "vof-target");
  Outcome outcome;
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  outcome.done = ParseTargetFlags("vof-target", static_cast<int>(arguments.size()),
                                  arguments.data(), &outcome.flags);
  std::fflush(stdout);
  outcome.out = ::testing::internal::GetCapturedStdout();
  outcome.err = ::testing::internal::GetCapturedStderr();
  return outcome;
}

TEST(TargetFlagsTest, EveryFlagReachesTheConfiguration) {
  const Outcome outcome = Parse({"--listen",
                                 "tcp://127.0.0.1:0",
                                 "--listen",
                                 "tcp://[::1]:0",
                                 "--blk",
                                 "name=mem 0,store=memory,size=1G",
                                 "--blk",
                                 "store=file,path=/a,,b=c,name=f",
                                 "--device",
                                 "type=counter,name=c,step=2",
                                 "--plugin",
                                 "/x.so",
                                 "--reactors=2",
                                 "--cpus=1,0",
                                 "--spin-us=20",
                                 "--pool-size=64M",
                                 "--registered-size=1G",
                                 "--inline-size=512",
                                 "--max-sessions=5",
                                 "--max-queues=6",
                                 "--max-connections=7",
                                 "--handshake-timeout=500ms",
                                 "--drain-timeout=1us",
                                 "--reactor-timeout=2m",
                                 "--log-level=warn",
                                 "--check",
                                 "--print-config",
                                 "--ready-fd",
                                 "5",
                                 "--ready-file",
                                 "/r"});
  ASSERT_FALSE(outcome.done) << outcome.err;
  const TargetConfig& config = outcome.flags.config;
  ASSERT_EQ(config.listeners.size(), 2u);
  EXPECT_EQ(config.listeners[1].value, "tcp://[::1]:0");
  ASSERT_EQ(config.devices.size(), 3u);
  EXPECT_EQ(config.devices[0].name.value, "mem 0");
  EXPECT_EQ(config.devices[0].type, "blk");
  ASSERT_EQ(config.devices[1].options.size(), 2u);
  EXPECT_EQ(config.devices[1].options[1].value, "/a,b=c");
  EXPECT_EQ(config.devices[2].type, "counter");
  EXPECT_EQ(config.devices[2].options.at(0).key, "step");
  EXPECT_EQ(config.plugins.at(0).value, "/x.so");
  EXPECT_EQ(config.NumReactors(), 2u);
  EXPECT_EQ(config.cpus->value, (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(config.SpinUs(1), 20u);
  EXPECT_EQ(config.pool_bytes.value, 64u << 20);
  EXPECT_EQ(config.registered_bytes.value, 1u << 30);
  EXPECT_EQ(config.inline_bytes.value, 512u);
  EXPECT_EQ(config.sessions.value, 5u);
  EXPECT_EQ(config.queues_per_session.value, 6u);
  EXPECT_EQ(config.connections.value, 7u);
  EXPECT_EQ(config.handshake_timeout_ms.value, 500u);
  EXPECT_EQ(config.drain_timeout_ms.value, 1u);
  EXPECT_EQ(config.reactor_timeout_ms.value, 120'000u);
  EXPECT_EQ(config.log_level.value, "warn");
  EXPECT_TRUE(outcome.flags.check);
  EXPECT_TRUE(outcome.flags.print_config);
  EXPECT_EQ(outcome.flags.ready_fd, 5);
  EXPECT_EQ(outcome.flags.ready_file, "/r");
}

TEST(TargetFlagsTest, FlagsReplaceAndExtendTheFile) {
  const std::string path = ::testing::TempDir() + "flags_test.conf";
  std::ofstream(path)
      << "listener { uri: \"tcp://a:1\" }\nreactors { count: 3 }\nlog { level: \"off\" }\n";
  const Outcome outcome =
      Parse({"--listen", "tcp://b:2", "--config", path.c_str(), "--reactors", "4"});
  ASSERT_FALSE(outcome.done) << outcome.err;
  const TargetConfig& config = outcome.flags.config;
  ASSERT_EQ(config.listeners.size(), 2u);
  EXPECT_EQ(config.listeners[0].value, "tcp://a:1");
  EXPECT_EQ(config.listeners[0].where, path + ":1:12");
  EXPECT_EQ(config.listeners[1].where, "--listen");
  EXPECT_EQ(config.NumReactors(), 4u);
  EXPECT_EQ(config.log_level.value, "off");
}

TEST(TargetFlagsTest, ErrorsNameTheFlagAndExitWithUsage) {
  const struct {
    std::vector<const char*> arguments;
    const char* error;
  } kCases[] = {
      {{"--lisen", "x"}, "--lisen"},
      {{"extra"}, "extra"},
      {{"--listen"}, "--listen"},
      {{"--listen", "tcp://a", "tcp://b"}, "tcp://b"},
      {{"--config", "/nonexistent.conf"}, "/nonexistent.conf: cannot open"},
  };
  for (const auto& c : kCases) {
    const Outcome outcome = Parse(c.arguments);
    EXPECT_EQ(outcome.done, ExitCode::kUsage) << c.error;
    EXPECT_THAT(outcome.err, AllOf(StartsWith("vof-target: error: "), HasSubstr(c.error)));
    EXPECT_EQ(outcome.out, "");
  }
}

TEST(TargetFlagsTest, ValuesThatCannotBeReadAreLeftToTheCheck) {
  const Outcome outcome =
      Parse({"--pool-size", "1X", "--cpus", "3-1", "--drain-timeout", "soon", "--reactors", "many",
             "--spin-us", "-1", "--max-sessions", "99999999999", "--blk", "name=x,,=y,", "--device",
             "name=a,name=b"});
  ASSERT_FALSE(outcome.done) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_TRUE(outcome.flags.config.has_unreadable_device);
  std::string errors;
  for (const SettingError& error : outcome.flags.config.unreadable) {
    errors += error.where + ": " + error.message + "\n";
  }
  for (const char* error :
       {"--reactors: \"many\" is not a whole number from 1 to 256\n",
        "--spin-us: \"-1\" is not a whole number from 0 to 1000000\n",
        "--max-sessions: \"99999999999\" is not a whole number from 1 to 4096\n",
        "--pool-size: \"1X\" is not a size", "--cpus: \"3-1\" is not a list of CPUs",
        "--drain-timeout: \"soon\" is not a duration", "--blk name=x,,=y,: expected KEY=VALUE",
        "--device name=a,name=b: \"name\" is given twice"}) {
    EXPECT_THAT(errors, HasSubstr(error));
  }
}

// `--pool-size "$SIZE"` without such a variable is not the default.
TEST(TargetFlagsTest, EmptyValuesAreErrors) {
  for (const char* flag :
       {"--reactors", "--cpus", "--spin-us", "--pool-size", "--registered-size", "--inline-size",
        "--max-sessions", "--max-queues", "--max-connections", "--handshake-timeout",
        "--drain-timeout", "--ready-file", "--ready-fd"}) {
    const Outcome outcome = Parse({flag, ""});
    ASSERT_FALSE(outcome.done) << outcome.err;
    ASSERT_EQ(outcome.flags.config.unreadable.size(), 1u) << flag;
    EXPECT_EQ(outcome.flags.config.unreadable[0].where, flag);
  }
  EXPECT_EQ(Parse({"--log-level", ""}).flags.config.log_level.value, "") << "checked like the file";
  EXPECT_EQ(Parse({"--config", ""}).done, ExitCode::kUsage);
}

TEST(TargetFlagsTest, AFileThatCannotBeReadHidesNoFlags) {
  const Outcome outcome = Parse({"--config", "/nonexistent.conf", "--pool-size", "1X"});
  EXPECT_EQ(outcome.done, ExitCode::kUsage);
  EXPECT_THAT(outcome.err, HasSubstr("cannot open"));
  EXPECT_THAT(outcome.err, HasSubstr("--pool-size: \"1X\""));
}

TEST(TargetFlagsTest, HelpListsFlagsAndBlkKeys) {
  const Outcome outcome = Parse({"--help"});
  EXPECT_EQ(outcome.done, ExitCode::kOk);
  for (const char* part :
       {"--config", "--listen", "--blk", "--device", "--plugin", "--reactors", "--cpus",
        "--busy-poll", "--spin-us", "--pool-size", "--log-level", "--check", "--print-config",
        "--ready-fd", "--drain-timeout", "write_cache", "vof-target --listen tcp://127.0.0.1:0"}) {
    EXPECT_THAT(outcome.out, HasSubstr(part));
  }
  EXPECT_EQ(outcome.err, "");
}

TEST(TargetFlagsTest, Version) {
  const Outcome outcome = Parse({"--version"});
  EXPECT_EQ(outcome.done, ExitCode::kOk);
  EXPECT_THAT(outcome.out, StartsWith("vof-target "));
}

// What a file says, and flags that say the same thing in another way.
TargetConfig Overlaid(const char* file_text, std::vector<const char*> flags) {
  const std::string path = ::testing::TempDir() + "/overlaid.conf";
  std::ofstream(path) << file_text;
  flags.insert(flags.begin(), {"--config", path.c_str()});
  const Outcome outcome = Parse(flags);
  EXPECT_FALSE(outcome.done.has_value()) << outcome.err;
  return outcome.flags.config;
}

TEST(TargetFlagsTest, AFlagWinsOverTheOppositeInTheFile) {
  const char* spinning = "reactors { spin_us: 20 }";
  EXPECT_FALSE(Overlaid(spinning, {"--busy-poll"}).spin_us.has_value());
  EXPECT_TRUE(Overlaid(spinning, {"--busy-poll"}).busy_poll.value);
  EXPECT_EQ(Overlaid(spinning, {}).spin_us->value, 20u);

  const char* polling = "reactors { busy_poll: true }";
  EXPECT_FALSE(Overlaid(polling, {"--spin-us", "5"}).busy_poll.value);
  EXPECT_TRUE(Overlaid(polling, {"--spin-us", "0"}).busy_poll.value);

  const char* pinned = "reactors { count: 2 cpus: \"0-1\" }";
  EXPECT_FALSE(Overlaid(pinned, {"--reactors", "3"}).cpus.has_value());
  EXPECT_TRUE(Overlaid(pinned, {"--reactors", "2"}).cpus.has_value());
  EXPECT_EQ(Overlaid(pinned, {"--cpus", "0"}).NumReactors(), 1u);

  // Both by flags: a contradiction, which the check tells.
  const TargetConfig both = Overlaid("", {"--busy-poll", "--spin-us", "5"});
  EXPECT_TRUE(both.busy_poll.value && both.spin_us->value == 5);
}

}  // namespace
}  // namespace vof
