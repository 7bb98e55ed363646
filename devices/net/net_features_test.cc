// SPDX-License-Identifier: Apache-2.0
#include "devices/net/net_features.h"

#include <gtest/gtest.h>

#include "devices/net/net_wire.h"

namespace vof {
namespace {

TEST(NetFeaturesTest, SegmentationNeedsChecksums) {
  EXPECT_EQ(LackingNetFeatures(kNetFeatureHostTso4), kNetFeatureChecksum);
  EXPECT_EQ(LackingNetFeatures(kNetFeatureHostTso4 | kNetFeatureChecksum), 0u);
  EXPECT_EQ(LackingNetFeatures(kNetFeatureGuestUso6 | kNetFeatureChecksum),
            kNetFeatureGuestChecksum);
}

TEST(NetFeaturesTest, OneOfSeveralIsEnough) {
  const uint64_t tso6 = kNetFeatureChecksum | kNetFeatureHostTso6;
  EXPECT_EQ(LackingNetFeatures(tso6 | kNetFeatureHostEcn), 0u);
  EXPECT_EQ(LackingNetFeatures(kNetFeatureChecksum | kNetFeatureHostEcn),
            kNetFeatureHostTso4 | kNetFeatureHostTso6);
}

TEST(NetFeaturesTest, CommandsNeedTheQueueTheyAreSentOn) {
  for (const uint64_t feature :
       {kNetFeatureControlRx, kNetFeatureControlVlan, kNetFeatureControlRxExtra,
        kNetFeatureGuestAnnounce, kNetFeatureMultiQueue, kNetFeatureControlMacAddress,
        kNetFeatureControlGuestOffloads, kNetFeatureRss, kNetFeatureHashReport}) {
    EXPECT_EQ(LackingNetFeatures(feature), kNetFeatureControlQueue) << feature;
    EXPECT_EQ(LackingNetFeatures(feature | kNetFeatureControlQueue), 0u) << feature;
  }
  EXPECT_EQ(LackingNetFeatures(kNetFeatureMac | kNetFeatureStatus | kNetFeatureMtu), 0u);
}

TEST(NetFeaturesTest, LeavesOutWhatLacksSomethingAndWhatNeededThat) {
  EXPECT_EQ(ConsistentNetFeatures(kNetFeatureHostTso4 | kNetFeatureHostEcn | kNetFeatureMac),
            kNetFeatureMac);
  const uint64_t whole = kNetFeatureChecksum | kNetFeatureHostTso4 | kNetFeatureHostEcn;
  EXPECT_EQ(ConsistentNetFeatures(whole), whole);
  for (uint64_t bits = 0; bits < 1u << 16; ++bits) {
    ASSERT_EQ(LackingNetFeatures(ConsistentNetFeatures(bits)), 0u) << bits;
  }
}

TEST(NetFeaturesTest, GuestOffloads) {
  EXPECT_EQ(GuestOffloadsOf(~uint64_t{0} & ~kNetFeatureGuestEcn) & kNetFeatureGuestEcn, 0u);
  EXPECT_EQ(GuestOffloadsOf(kNetFeatureGuestTso4 | kNetFeatureHostTso4), kNetFeatureGuestTso4);
}

}  // namespace
}  // namespace vof
