// SPDX-License-Identifier: Apache-2.0
#include "core/wire/command.h"

#include <set>
#include <string_view>

#include "core/wire/codec.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

// Calls `text` with every enumerator up to `last` and expects a different, usable text for each.
template <typename Enum, typename Text>
void ExpectDistinctTexts(Enum last, Text text) {
  std::set<std::string_view> seen;
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    const std::string_view t = text(static_cast<Enum>(i));
    EXPECT_FALSE(t.empty()) << i;
    EXPECT_TRUE(seen.insert(t).second) << i << ": " << t;
  }
}

TEST(Texts, EveryEnumeratorHasItsOwn) {
  ExpectDistinctTexts(CommandKind::kGetConfigChanged, CommandKindName);
  ExpectDistinctTexts(Cause::kUnknown, CauseText);
  ExpectDistinctTexts(WireError::kTruncated, WireErrorText);
}

TEST(Texts, NumberOutsideTheEnumerationIsHarmless) {
  EXPECT_FALSE(CommandKindName(static_cast<CommandKind>(200)).empty());
  EXPECT_FALSE(CauseText(static_cast<Cause>(200)).empty());
  EXPECT_FALSE(WireErrorText(static_cast<WireError>(200)).empty());
}

}  // namespace
}  // namespace vof
