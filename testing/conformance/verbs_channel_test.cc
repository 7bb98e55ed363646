// SPDX-License-Identifier: Apache-2.0
//
// Channels over an RDMA device keep the promises of every message channel. Runs in a guest with
// soft-RoCE on 10.77.0.1 and fd00:77::1.
#include <gtest/gtest.h>

#include "backends/verbs/verbs_calls.h"
#include "testing/conformance/message_channel_end_suite.h"
#include "testing/conformance/message_channel_suite.h"
#include "testing/conformance/verbs_pairs.h"

namespace vof {
namespace {

// A connection takes a tenth of a second in the emulated machine.
struct GuestPromises : ChannelPromises {
  static constexpr int kManyPairs = 100;
};

struct VerbsPairMaker : GuestPromises {
  using Channel = VerbsChannel;
  static absl::StatusOr<ChannelPair<VerbsChannel>> Make() {
    static VerbsPairSource source(RealVerbsCalls(), "10.77.0.1", SuiteOptions());
    return source.Make();
  }
};

// A send queue that is often full, and one segment for each post.
struct SmallVerbsPairMaker : GuestPromises {
  using Channel = VerbsChannel;
  static absl::StatusOr<ChannelPair<VerbsChannel>> Make() {
    VerbsOptions options = SuiteOptions();
    options.send_depth = 3;
    options.max_local_segments = 1;
    options.inline_bytes = 64;
    static VerbsPairSource source(RealVerbsCalls(), "fd00:77::1", options);
    return source.Make();
  }
};

// Both ends take their receives from one queue of the device.
struct SharedVerbsPairMaker : GuestPromises {
  using Channel = VerbsChannel;
  static absl::StatusOr<ChannelPair<VerbsChannel>> Make() {
    VerbsOptions options = SuiteOptions();
    options.shared_receives = true;
    options.max_shared_receives = 1024;
    static VerbsPairSource source(RealVerbsCalls(), "10.77.0.1", options);
    return source.Make();
  }
};

using Makers = testing::Types<VerbsPairMaker, SmallVerbsPairMaker, SharedVerbsPairMaker>;
INSTANTIATE_TYPED_TEST_SUITE_P(Verbs, MessageChannelTest, Makers);
INSTANTIATE_TYPED_TEST_SUITE_P(Verbs, MessageChannelEndTest, Makers);

}  // namespace
}  // namespace vof
