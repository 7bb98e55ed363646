// SPDX-License-Identifier: Apache-2.0
#include "testing/sim/disk_model.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace vof {
namespace {

std::vector<std::byte> Sector(uint32_t version, uint64_t sector) {
  std::vector<std::byte> bytes(512);
  DiskModel::Fill(version, sector, bytes);
  return bytes;
}

class DiskModelTest : public testing::Test {
 protected:
  bool MayHold(uint32_t version, uint64_t sector = 3) {
    return model_.FinishRead(model_.StartRead(sector, 1), Sector(version, sector), &error_);
  }
  DiskModel::WriteHandle Start() { return model_.StartWrite({{3, 1}}, model_.NewVersion()); }

  DiskModel model_{8};
  std::string error_;
};

TEST_F(DiskModelTest, AnAcknowledgedWriteReplacesWhatWasThere) {
  EXPECT_TRUE(MayHold(kZeroVersion));
  const auto write = Start();
  EXPECT_TRUE(MayHold(kZeroVersion));
  EXPECT_TRUE(MayHold(write->version));
  model_.FinishWrite(write, WriteOutcome::kDone);
  EXPECT_FALSE(MayHold(kZeroVersion));
  EXPECT_NE(error_.find("it holds version 0"), std::string::npos) << error_;
  EXPECT_TRUE(MayHold(write->version));
  EXPECT_FALSE(MayHold(write->version, 4));
}

TEST_F(DiskModelTest, WritesThatWereInFlightTogetherMayLandInAnyOrder) {
  const auto first = Start(), second = Start();
  model_.FinishWrite(second, WriteOutcome::kDone);
  model_.FinishWrite(first, WriteOutcome::kDone);
  EXPECT_TRUE(MayHold(first->version));
  EXPECT_TRUE(MayHold(second->version));
  EXPECT_FALSE(MayHold(kZeroVersion));
  const auto third = Start();
  model_.FinishWrite(third, WriteOutcome::kDone);
  EXPECT_FALSE(MayHold(second->version));
}

TEST_F(DiskModelTest, AWriteThatWasNeverSentMustNotBeSeen) {
  const auto write = Start();
  model_.FinishWrite(write, WriteOutcome::kNever);
  EXPECT_FALSE(MayHold(write->version));
  EXPECT_TRUE(MayHold(kZeroVersion));
}

TEST_F(DiskModelTest, AnUnknownWriteMayLandUntilItIsSettled) {
  const auto lost = Start();
  model_.FinishWrite(lost, WriteOutcome::kUnknown);
  const auto next = Start();
  model_.FinishWrite(next, WriteOutcome::kDone);
  EXPECT_TRUE(MayHold(lost->version));  // after the later one
  model_.Settle(lost);
  const auto last = Start();
  model_.FinishWrite(last, WriteOutcome::kDone);
  EXPECT_FALSE(MayHold(lost->version));
}

TEST_F(DiskModelTest, AFailedWriteLeavesPartsOfBoth) {
  const auto write = Start();
  model_.FinishWrite(write, WriteOutcome::kMaybe);
  std::vector<std::byte> torn = Sector(write->version, 3);
  std::fill(torn.begin() + 100, torn.end(), std::byte{0});
  EXPECT_TRUE(model_.FinishRead(model_.StartRead(3, 1), torn, &error_)) << error_;
  torn[200] = std::byte{1};
  EXPECT_FALSE(model_.FinishRead(model_.StartRead(3, 1), torn, &error_));
}

TEST_F(DiskModelTest, AReadSeesWhatWasThereAtAnyTimeOfIt) {
  const auto before = Start();
  model_.FinishWrite(before, WriteOutcome::kDone);
  auto read = model_.StartRead(3, 1);
  const auto write = Start();
  model_.FinishWrite(write, WriteOutcome::kDone);
  EXPECT_TRUE(model_.FinishRead(read, Sector(before->version, 3), &error_)) << error_;
  EXPECT_FALSE(MayHold(before->version));
}

TEST_F(DiskModelTest, WhatWasCutOffIsZero) {
  const auto write = Start();
  model_.FinishWrite(write, WriteOutcome::kDone);
  model_.Cut(2);
  EXPECT_TRUE(MayHold(kZeroVersion));
  EXPECT_FALSE(MayHold(write->version));
}

}  // namespace
}  // namespace vof
