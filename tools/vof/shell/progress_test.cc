// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/shell/progress.h"

#include <gtest/gtest.h>

namespace vof {
namespace {

TEST(ProgressTest, BarFollowsTheShareThatIsDone) {
  EXPECT_EQ(FormatTransferProgress(0, 1 << 20, kNanosecondsPerSecond),
            "[..............................]   0 %  0 B of 1 MiB  0 B/s");
  EXPECT_EQ(FormatTransferProgress(1 << 19, 1 << 20, 2 * kNanosecondsPerSecond),
            "[###############...............]  50 %  512 KiB of 1 MiB  256 KiB/s  2 s left");
  EXPECT_EQ(FormatTransferProgress(1 << 20, 1 << 20, kNanosecondsPerSecond),
            "[##############################] 100 %  1 MiB of 1 MiB  1 MiB/s  0 s left");
}

TEST(ProgressTest, SizeThatGrewDoesNotOverflowTheBar) {
  EXPECT_EQ(FormatTransferProgress(2 << 20, 1 << 20, kNanosecondsPerSecond).substr(0, 38),
            "[##############################] 100 %");
}

TEST(ProgressTest, UnknownTotalHasNoBar) {
  EXPECT_EQ(FormatTransferProgress(1 << 20, 0, kNanosecondsPerSecond), "1 MiB  1 MiB/s");
  EXPECT_EQ(FormatTransferProgress(1 << 20, 0, 0), "1 MiB  -");
}

}  // namespace
}  // namespace vof
