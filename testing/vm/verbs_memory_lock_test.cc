// SPDX-License-Identifier: Apache-2.0
//
// The verbs domain with 64 KiB of lockable memory and without CAP_IPC_LOCK, as an ordinary user has
// it: what does not fit is refused with the limit in words, what fits works, and again after it
// ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/verbs/verbs_calls.h"
#include "backends/verbs/verbs_channel.h"
#include "testing/conformance/verbs_pairs.h"

namespace vof {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr size_t kLimitBytes = 64 * 1024;

class VerbsMemoryLockTest : public testing::Test {
 protected:
  void SetUp() override {
    auto pair = source_.Make();
    ASSERT_TRUE(pair.ok()) << pair.status();
    pair_ = *std::move(pair);
  }

  VerbsPairSource source_{RealVerbsCalls(), "10.77.0.1", SuiteOptions()};
  ChannelPair<VerbsChannel> pair_;
};

TEST_F(VerbsMemoryLockTest, RefusalNamesLimitValueAndNeed) {
  std::vector<std::byte> memory(16 * kLimitBytes);
  const absl::Status status =
      pair_.domain_a->Register(MutableBuffer(memory.data(), memory.size()), Access::kRemoteRead)
          .status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("1048576 bytes are needed"),
                    HasSubstr("RLIMIT_MEMLOCK of this process is 65536 bytes"),
                    HasSubstr("ulimit -l"), HasSubstr("CAP_IPC_LOCK")));
}

TEST_F(VerbsMemoryLockTest, ReceivesBeyondTheLimitAreRefusedAndTheChannelWorksOn) {
  const absl::Status status = pair_.b->SetReceiveDepth(100);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("100 receives"), HasSubstr("65536 bytes")));
  EXPECT_TRUE(pair_.b->SetReceiveDepth(2).ok());
}

// What pipelined registration does: pieces that fit, one after the other.
TEST_F(VerbsMemoryLockTest, PiecesThatEndMakeRoomForOthers) {
  std::vector<std::byte> memory(16 * kLimitBytes);
  constexpr size_t kPiece = kLimitBytes / 4;
  for (size_t at = 0; at + kPiece <= memory.size(); at += kPiece) {
    auto region =
        pair_.domain_a->Register(MutableBuffer(memory.data() + at, kPiece), Access::kRemoteWrite);
    ASSERT_TRUE(region.ok()) << at << ": " << region.status();
  }
}

TEST_F(VerbsMemoryLockTest, WhatIsPinnedAlreadyIsSaid) {
  std::vector<std::byte> memory(2 * kLimitBytes);
  auto first =
      pair_.domain_a->Register(MutableBuffer(memory.data(), kLimitBytes / 2), Access::kRemoteWrite);
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::Status status =
      pair_.domain_a
          ->Register(MutableBuffer(memory.data() + kLimitBytes, kLimitBytes / 2),
                     Access::kRemoteWrite)
          .status();
  // Half and half are just too much: memory that does not begin with a page takes one more.
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), testing::ContainsRegex("and [1-9][0-9]+ are pinned"));
}

}  // namespace
}  // namespace vof
