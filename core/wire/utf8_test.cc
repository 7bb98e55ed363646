// SPDX-License-Identifier: Apache-2.0
#include "core/wire/utf8.h"

#include "gtest/gtest.h"

namespace vof {
namespace {

TEST(Utf8, AcceptsTheFirstAndLastOfEachLength) {
  for (const char* text :
       {"", "plain", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "a\xc3\xa4z"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
}

TEST(Utf8, RefusesWhatIsNotWellFormed) {
  for (const char* text : {"\x80",              // continuation without a lead
                           "\xbf",              //
                           "\xc0\x80",          // overlong
                           "\xc1\xbf",          //
                           "\xe0\x9f\xbf",      //
                           "\xf0\x8f\xbf\xbf",  //
                           "\xed\xa0\x80",      // surrogates
                           "\xed\xbf\xbf",      //
                           "\xf4\x90\x80\x80",  // beyond the last code point
                           "\xf5\x80\x80\x80",  //
                           "\xff",              //
                           "\xc3",              // cut
                           "\xe2\x82",          //
                           "\xf0\x9f\x92",      //
                           "\xc3(",             // wrong continuation
                           "\xe2\x82(",         //
                           "\xf0\x9f\x92("}) {
    EXPECT_FALSE(IsUtf8(text));
  }
}

}  // namespace
}  // namespace vof
