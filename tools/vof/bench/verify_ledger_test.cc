// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/bench/verify_ledger.h"

#include <gtest/gtest.h>

namespace vof {
namespace {

TEST(VerifyLedgerTest, CountsWritesOfABlock) {
  VerifyLedger ledger(4);
  EXPECT_EQ(ledger.sequence(1), 0u);
  for (uint32_t expected = 1; expected <= 3; ++expected) {
    EXPECT_EQ(ledger.Claim(1), 1u);
    EXPECT_EQ(ledger.next_sequence(1), expected);
    ledger.ReleaseAfterWrite(1, true);
    EXPECT_EQ(ledger.sequence(1), expected);
  }
  ledger.Claim(1);
  ledger.ReleaseAfterRead(1);
  EXPECT_EQ(ledger.sequence(1), 3u);
}

TEST(VerifyLedgerTest, BusyBlocksAreSteppedOver) {
  VerifyLedger ledger(3);
  EXPECT_EQ(ledger.Claim(2), 2u);
  EXPECT_EQ(ledger.Claim(2), 0u);
  EXPECT_EQ(ledger.Claim(2), 1u);
  ledger.ReleaseAfterRead(0);
  EXPECT_EQ(ledger.Claim(1), 0u);
}

TEST(VerifyLedgerTest, SequenceIsReadableWhileClaimed) {
  VerifyLedger ledger(2);
  ledger.Claim(0);
  ledger.ReleaseAfterWrite(0, true);
  ledger.Claim(0);
  EXPECT_EQ(ledger.sequence(0), 1u);
}

TEST(VerifyLedgerTest, FailedWriteLeavesTheBlockUnknownUntilTheNext) {
  VerifyLedger ledger(2);
  EXPECT_FALSE(ledger.known(0));
  ledger.Claim(0);
  ledger.ReleaseAfterWrite(0, true);
  EXPECT_TRUE(ledger.known(0));
  ledger.Claim(0);
  EXPECT_TRUE(ledger.known(0));
  ledger.ReleaseAfterWrite(0, false);
  EXPECT_FALSE(ledger.known(0));
  ledger.Claim(0);
  ledger.ReleaseAfterWrite(0, true);
  EXPECT_TRUE(ledger.known(0));
  EXPECT_EQ(ledger.sequence(0), 3u);  // never the stamp of the first write again
}

}  // namespace
}  // namespace vof
