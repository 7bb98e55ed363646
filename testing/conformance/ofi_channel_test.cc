// SPDX-License-Identifier: Apache-2.0
//
// Providers of libfabric keep the promises of every message channel.
#include <gtest/gtest.h>

#include "testing/conformance/message_channel_end_suite.h"
#include "testing/conformance/message_channel_suite.h"
#include "testing/conformance/ofi_pairs.h"

namespace vof {
namespace {

using Makers = testing::Types<OfiTcpPairMaker, OfiSharedTcpPairMaker, OfiNetPairMaker,
                              OfiSocketsPairMaker, OfiShmPairMaker>;
INSTANTIATE_TYPED_TEST_SUITE_P(Ofi, MessageChannelTest, Makers);
INSTANTIATE_TYPED_TEST_SUITE_P(Ofi, MessageChannelEndTest, Makers);

}  // namespace
}  // namespace vof
