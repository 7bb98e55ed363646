// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/transfer/location.h"

#include <gtest/gtest.h>

namespace vof {
namespace {

TEST(LocationTest, KindFollowsTheText) {
  EXPECT_EQ(LocationOf("tcp://[::1]:8549/disk").kind, LocationKind::kUri);
  EXPECT_EQ(LocationOf("loop:///disk").kind, LocationKind::kUri);
  EXPECT_EQ(LocationOf("nonsense://x").kind, LocationKind::kUri);
  EXPECT_EQ(LocationOf("-").kind, LocationKind::kStandard);
  EXPECT_EQ(LocationOf("disk.img").kind, LocationKind::kFile);
  EXPECT_EQ(LocationOf("./-").kind, LocationKind::kFile);
  EXPECT_EQ(LocationOf("./tcp://x").kind, LocationKind::kFile);
  EXPECT_EQ(LocationOf("://x").kind, LocationKind::kFile);
  EXPECT_EQ(LocationOf("").kind, LocationKind::kFile);
}

}  // namespace
}  // namespace vof
