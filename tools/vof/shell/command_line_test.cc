// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/shell/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace vof {
namespace {

using testing::HasSubstr;

struct Values {
  std::string uri;
  std::string file = "-";
  uint64_t count = 4;
  std::optional<uint64_t> size_bytes;
  Nanoseconds interval = 0;
  bool all = false;
};

class CommandLineTest : public testing::Test {
 protected:
  CommandLine Parse(std::vector<const char*> words) {
    values_ = {};
    common_ = {};
    verbs_ = {{.name = "look",
               .summary = "Looks.",
               .details = "Twice.",
               .examples = "  prog look x",
               .flags = {Argument("URI", &values_.uri, "the device"),
                         TextFlag("--output,-o", "FILE", &values_.file, "where to"),
                         CountFlag("--count,-c", {1, 10}, &values_.count, "rounds"),
                         SizeFlag("--length", &values_.size_bytes, "how much"),
                         DurationFlag("--interval", &values_.interval, "how often"),
                         Switch("--all", &values_.all, "everything")},
               .run = {}},
              {.name = "rest",
               .summary = "Rests.",
               .details = "",
               .examples = "  prog rest",
               .flags = {},
               .run = {}}};
    words.insert(words.begin(), "prog");
    return ParseCommandLine(
        {.name = "prog", .version = "1.2", .description = "It looks.", .footer = "That is all."},
        verbs_, &common_, static_cast<int>(words.size()), words.data());
  }
  std::string ErrorOf(const std::vector<const char*>& words) {
    const CommandLine line = Parse(words);
    EXPECT_TRUE(absl::IsInvalidArgument(line.status)) << line.status;
    EXPECT_FALSE(line.ok());
    return std::string(line.status.message());
  }

  Values values_;
  CommonFlags common_;
  std::vector<Verb> verbs_;
};

TEST_F(CommandLineTest, EveryKindOfFlag) {
  const CommandLine line = Parse({"look", "--all", "x", "-o", "f", "--count=7", "--length", "2K",
                                  "--interval", "5ms", "--json", "--dialect", "ref"});
  ASSERT_TRUE(line.ok()) << line.status;
  EXPECT_EQ(line.verb, &verbs_[0]);
  EXPECT_EQ(values_.uri, "x");
  EXPECT_EQ(values_.file, "f");
  EXPECT_EQ(values_.count, 7u);
  EXPECT_EQ(values_.size_bytes, 2048u);
  EXPECT_EQ(values_.interval, Milliseconds(5));
  EXPECT_TRUE(values_.all && common_.json);
  EXPECT_EQ(common_.dialect, Dialect::kRef);
}

TEST_F(CommandLineTest, WhatIsNotGivenStays) {
  const CommandLine line = Parse({"look", "x"});
  ASSERT_TRUE(line.ok()) << line.status;
  EXPECT_EQ(values_.file, "-");
  EXPECT_EQ(values_.count, 4u);
  EXPECT_FALSE(values_.size_bytes.has_value());
  EXPECT_FALSE(values_.all || common_.json || common_.timeout.has_value());
}

TEST_F(CommandLineTest, ErrorsNameTheFlagAndSayWhatIsAllowed) {
  EXPECT_THAT(ErrorOf({"look", "x", "--count", "11"}), HasSubstr("--count"));
  EXPECT_THAT(ErrorOf({"look", "x", "--count", "11"}), HasSubstr("from 1 to 10"));
  EXPECT_THAT(ErrorOf({"look", "x", "--count", "-1"}), HasSubstr("from 1 to 10"));
  EXPECT_THAT(ErrorOf({"look", "x", "--length", "2Q"}), HasSubstr("--length"));
  EXPECT_THAT(ErrorOf({"look", "x", "--timeout", "1us"}), HasSubstr("from 1ms to 24h, or 0"));
  EXPECT_THAT(ErrorOf({"look", "x", "--timeout", "25h"}), HasSubstr("from 1ms to 24h"));
  EXPECT_THAT(ErrorOf({"look", "x", "--dialect", "v6"}), HasSubstr("v5 or ref"));
  EXPECT_THAT(ErrorOf({"look"}), HasSubstr("URI"));
  EXPECT_THAT(ErrorOf({"look"}), HasSubstr("prog look --help"));
  EXPECT_THAT(ErrorOf({}), HasSubstr("prog --help"));
  EXPECT_THAT(ErrorOf({"sing"}), HasSubstr("prog --help"));
}

TEST_F(CommandLineTest, ATimeOutStandsForBothAndNoneForThatOfAnswers) {
  UriOptions options;
  ASSERT_TRUE(Parse({"look", "x", "--timeout", "2s"}).ok());
  ASSERT_TRUE(ApplyTo(common_, &options).ok());
  EXPECT_EQ(options.connect_timeout, Milliseconds(2000));
  EXPECT_EQ(options.io_timeout, Milliseconds(2000));
  options = {};
  ASSERT_TRUE(Parse({"look", "x", "--timeout", "0"}).ok());
  ASSERT_TRUE(ApplyTo(common_, &options).ok());
  EXPECT_EQ(options.connect_timeout, UriOptions().connect_timeout);
  EXPECT_EQ(options.io_timeout, 0);
  EXPECT_THAT(Parse({"look", "--help"}).answer, HasSubstr("or 0 for no limit"));
}

TEST_F(CommandLineTest, AnUnknownFlagIsNamedBeforeWhatIsMissing) {
  EXPECT_THAT(ErrorOf({"look", "--bogus"}), HasSubstr("no flag --bogus"));
  EXPECT_THAT(ErrorOf({"look", "x", "--bogus"}), HasSubstr("no flag --bogus"));
  EXPECT_THAT(ErrorOf({"look", "x", "y"}), HasSubstr("y"));
}

TEST_F(CommandLineTest, AnEmptyTextIsAMistake) {
  EXPECT_THAT(ErrorOf({"look", ""}), HasSubstr("URI: the value is empty"));
  for (const std::vector<const char*>& words : {std::vector<const char*>{"look", "x", "-o", ""},
                                                {"look", "x", "--output", ""},
                                                {"look", "x", "--output="},
                                                {"look", "--output", "", "x"}}) {
    EXPECT_THAT(ErrorOf(words), HasSubstr("--output")) << words.size();
  }
}

TEST_F(CommandLineTest, SurplusArgumentsAreNamedInTheirOrder) {
  EXPECT_THAT(ErrorOf({"look", "x", "y"}), HasSubstr("one argument too many: y"));
  EXPECT_THAT(ErrorOf({"look", "x", "y", "--all", "z"}), HasSubstr("2 arguments too many: y z"));
}

TEST_F(CommandLineTest, VerbsAreListedWhenNoneIsGiven) {
  EXPECT_THAT(ErrorOf({"sing"}), HasSubstr("no verb sing; the verbs are look, rest"));
  EXPECT_THAT(ErrorOf({}), HasSubstr("name a verb: look, rest"));
  EXPECT_THAT(ErrorOf({"--bogus"}), HasSubstr("name a verb: look, rest"));
  EXPECT_THAT(ErrorOf({"--json", "look", "x"}), HasSubstr("behind the verb: look --json"));
}

TEST_F(CommandLineTest, AWrongCommandLineStillAsksForJson) {
  for (const std::vector<const char*>& words :
       {std::vector<const char*>{"look", "--bogus", "--json"},
        {"look", "--json=true", "--bogus"},
        {"--json"},
        {"--json", "look", "x"},
        {"look", "--json", "--help"}}) {
    EXPECT_FALSE(Parse(words).ok());
    EXPECT_TRUE(common_.json) << words.front();
  }
  EXPECT_FALSE(Parse({"look", "--bogus", "--", "--json"}).ok());
  EXPECT_FALSE(common_.json);
}

TEST_F(CommandLineTest, HelpAndVersionAreAnswers) {
  CommandLine line = Parse({"look", "--help"});
  EXPECT_EQ(line.answer_kind, "help");
  for (const char* part : {"Looks.", "Twice.", "prog look x", "--count", "URI", "--timeout"}) {
    EXPECT_THAT(line.answer, HasSubstr(part));
  }
  line = Parse({"--help"});
  for (const char* part : {"It looks.", "That is all.", "look", "Rests."}) {
    EXPECT_THAT(line.answer, HasSubstr(part));
  }
  line = Parse({"--version"});
  EXPECT_EQ(line.answer_kind, "version");
  EXPECT_EQ(line.answer, "prog 1.2");
}

}  // namespace
}  // namespace vof
