// SPDX-License-Identifier: Apache-2.0
#include "core/base/quoted.h"

#include <string>

#include "gtest/gtest.h"

namespace vof {
namespace {

TEST(QuotedTest, WhatCanBeSeenStays) {
  EXPECT_EQ(Quoted(""), "\"\"");
  EXPECT_EQ(Quoted("vqn.host-1/disk 0"), "\"vqn.host-1/disk 0\"");
  EXPECT_EQ(Quoted("\u00fcber \u65e5\u672c \U0001f600"), "\"\u00fcber \u65e5\u672c \U0001f600\"");
}

TEST(QuotedTest, QuotesAndBackslashes) { EXPECT_EQ(Quoted(R"(a"b\)"), R"("a\"b\\")"); }

TEST(QuotedTest, ALineStaysALine) {
  EXPECT_EQ(Quoted("a\r\nb\tc"), R"("a\r\nb\tc")");
  EXPECT_EQ(Quoted("\x1b[31mred\x7f"), R"("\x1b[31mred\x7f")");
  EXPECT_EQ(Quoted(std::string("a\0b", 3)), R"("a\x00b")");
  EXPECT_EQ(Quoted("\u2028\u0085"), R"("\u{2028}\u{85}")");
}

TEST(QuotedTest, WhatHidesOrReordersText) {
  EXPECT_EQ(Quoted("a\u202eb\u200bc\ufeff"), R"("a\u{202e}b\u{200b}c\u{feff}")");
  EXPECT_EQ(Printable("\u061c\u180e\u034f\u115f\u1160\u3164\uffa0\u2800"),
            R"(\u{61c}\u{180e}\u{34f}\u{115f}\u{1160}\u{3164}\u{ffa0}\u{2800})");
  EXPECT_EQ(Printable("\ufe00\ufe0f\U000e0100\U000e01ef\U000e0001"),
            R"(\u{fe00}\u{fe0f}\u{e0100}\u{e01ef}\u{e0001})");
  EXPECT_EQ(Printable("\u17b4\u180b\u180f\ufff0\U0001bca0\U0001d17a"),
            R"(\u{17b4}\u{180b}\u{180f}\u{fff0}\u{1bca0}\u{1d17a})");
}

TEST(QuotedTest, NeighboursOfWhatHidesTextStay) {
  const std::string visible =
      "\u0350\u061b\u115e\u1161\u17b6\u1810\u2801\u3165\ufe10\uff9f\uffa1\ufffd";
  EXPECT_EQ(Printable(visible), visible);
}

TEST(QuotedTest, WhatIsNotUtf8) {
  EXPECT_EQ(Quoted("a\xff"), R"("a\xff")");
  EXPECT_EQ(Quoted("\xc3"), R"("\xc3")");                  // cut
  EXPECT_EQ(Quoted("\xc0\x8a"), R"("\xc0\x8a")");          // a newline in too many bytes
  EXPECT_EQ(Quoted("\xed\xa0\x80"), R"("\xed\xa0\x80")");  // a surrogate
  EXPECT_EQ(Quoted("\xf4\x90\x80\x80"), R"("\xf4\x90\x80\x80")");
}

TEST(QuotedTest, PrintableHasNoQuotesOfItsOwn) {
  EXPECT_EQ(Printable("no \"disk\" in 'a\\b'"), "no \"disk\" in 'a\\b'");
  EXPECT_EQ(Printable("a\n\x1b[31mb\xff\u202e"), R"(a\n\x1b[31mb\xff\u{202e})");
  EXPECT_EQ(Printable(Quoted("a\"\n\xff")), Quoted("a\"\n\xff"));
}

// Whatever the bytes: only printable ASCII or whole UTF-8 comes out, and never a control.
TEST(QuotedTest, EveryPairOfBytes) {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const char text[] = {static_cast<char>(a), static_cast<char>(b)};
      for (const char c : Quoted({text, 2}) + Printable({text, 2})) {
        const auto byte = static_cast<unsigned char>(c);
        ASSERT_TRUE(byte >= 0x20 && byte != 0x7f) << a << " " << b;
      }
    }
  }
}

}  // namespace
}  // namespace vof
