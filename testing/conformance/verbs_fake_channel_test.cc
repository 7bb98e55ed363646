// SPDX-License-Identifier: Apache-2.0
//
// Channels over verbs keep the promises of every message channel: on a device in memory, so that
// the sanitizers see it. verbs_channel_test.cc has the same over soft-RoCE.
#include <gtest/gtest.h>

#include "backends/verbs/testing/fake_verbs.h"
#include "testing/conformance/message_channel_end_suite.h"
#include "testing/conformance/message_channel_suite.h"
#include "testing/conformance/verbs_pairs.h"

namespace vof {
namespace {

struct FakeVerbsPairMaker : ChannelPromises {
  using Channel = VerbsChannel;
  static absl::StatusOr<ChannelPair<VerbsChannel>> Make() {
    static VerbsPairSource source(std::make_shared<FakeVerbs>(), "127.0.0.1", SuiteOptions());
    return source.Make();
  }
};

// A device that copies nothing and takes one segment, and a send queue that is often full.
struct SmallFakeVerbsPairMaker : ChannelPromises {
  using Channel = VerbsChannel;
  static absl::StatusOr<ChannelPair<VerbsChannel>> Make() {
    static VerbsPairSource source(Device(), "::1", Options());
    return source.Make();
  }

 private:
  static std::shared_ptr<FakeVerbs> Device() {
    auto fake = std::make_shared<FakeVerbs>();
    fake->max_inline_bytes = 0;
    fake->device().max_sge = 1;
    fake->device().max_qp_wr = 128;
    return fake;
  }
  static VerbsOptions Options() {
    VerbsOptions options = SuiteOptions();
    options.send_depth = 3;
    return options;
  }
};

struct SharedFakeVerbsPairMaker : ChannelPromises {
  using Channel = VerbsChannel;
  static absl::StatusOr<ChannelPair<VerbsChannel>> Make() {
    VerbsOptions options = SuiteOptions();
    options.shared_receives = true;
    options.max_shared_receives = 1024;
    static VerbsPairSource source(std::make_shared<FakeVerbs>(), "127.0.0.1", options);
    return source.Make();
  }
};

using Makers =
    testing::Types<FakeVerbsPairMaker, SmallFakeVerbsPairMaker, SharedFakeVerbsPairMaker>;
INSTANTIATE_TYPED_TEST_SUITE_P(FakeVerbs, MessageChannelTest, Makers);
INSTANTIATE_TYPED_TEST_SUITE_P(FakeVerbs, MessageChannelEndTest, Makers);

}  // namespace
}  // namespace vof
