// SPDX-License-Identifier: Apache-2.0
//
// The in-process fabric, in its variations, keeps the promises of every message channel.
#include <gtest/gtest.h>

#include "testing/conformance/channel_pairs.h"
#include "testing/conformance/message_channel_end_suite.h"

namespace vof {
namespace {

using Makers = testing::Types<FabricPairMaker, SmallFabricPairMaker, LateFabricPairMaker,
                              SharedReceivesPairMaker>;
INSTANTIATE_TYPED_TEST_SUITE_P(Fabric, MessageChannelEndTest, Makers);

}  // namespace
}  // namespace vof
