// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/verbs/info_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace vof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(InfoReportTest, FeaturesHaveNamesAndUnknownBitsNumbers) {
  EXPECT_THAT(FeatureNames(kBlkFeatureFlush | kBlkFeatureMultiQueue | 1ull << 32 | 1ull << 50, 2),
              ElementsAre("FLUSH", "MQ", "VERSION_1", "bit 50"));
  EXPECT_THAT(FeatureNames(kBlkFeatureFlush, /*device_type=*/1), ElementsAre("bit 9"));
  EXPECT_THAT(FeatureNames(0, 2), IsEmpty());
  EXPECT_THAT(TransportFeatureNames(transport_feature::kCredit | transport_feature::kNumQueues),
              ElementsAre("CREDIT", "NUM_QUEUES"));
}

TEST(InfoReportTest, TypesAndVendors) {
  EXPECT_EQ(DeviceTypeName(2), "block");
  EXPECT_EQ(DeviceTypeName(42), "type 42");
  EXPECT_EQ(VendorName(kOurVendorId), "vof");
  EXPECT_EQ(VendorName(0x1af4), "0x00001af4");
}

TEST(InfoReportTest, EmptyListsAreBrackets) {
  const std::string text = InfoJson({"tcp://host/x", "tcp://192.0.2.1:8549", {}, nullptr}).dump();
  EXPECT_THAT(text, HasSubstr("\"offered\":[],\"accepted\":[],\"transport\":[]"));
  EXPECT_THAT(text, HasSubstr("\"sizes\":[]"));
}

TEST(InfoReportTest, TheEpochIsExact) {
  SessionInfo session;
  session.epoch = UINT64_MAX - 1;
  const DeviceFacts facts{"tcp://host/x", "tcp://192.0.2.1:8549", session, nullptr};
  EXPECT_EQ(InfoJson(facts)["epoch"], "18446744073709551614");
  session.dialect = Dialect::kRef;  // does not have one
  EXPECT_TRUE(InfoJson({"tcp://host/x", "", session, nullptr})["epoch"].is_null());
}

TEST(InfoReportTest, BlockDevicesTellTheirSize) {
  BlkInfo blk;
  blk.capacity_bytes = 64 << 20;
  blk.serial = "disk-17";
  SessionInfo session;
  session.device_type = 2;
  session.num_queues = 4;
  session.queue_sizes = {128};
  const DeviceFacts facts{"tcp://host/x", "tcp://192.0.2.1:8549", session, &blk};
  const Json json = InfoJson(facts);
  EXPECT_EQ(json["capacity_bytes"], 64 << 20);
  EXPECT_EQ(json["serial"], "disk-17");
  EXPECT_EQ(json["queues"]["available"], 4);
  const std::string text = InfoText(facts);
  EXPECT_THAT(text, HasSubstr("64 MiB (67108864 bytes)"));
  EXPECT_THAT(text, HasSubstr("disk-17"));
}

TEST(InfoReportTest, TextAndJsonTellTheSameLargestTransfer) {
  BlkInfo blk;
  blk.max_transfer_bytes = 1 << 20;  // segments are few and small; the target takes 4 MiB
  const DeviceFacts facts{"tcp://host/x", "tcp://192.0.2.1:8549", {}, &blk};
  ASSERT_GT(facts.session.max_out_bytes, 4u << 20);
  const Json limits = InfoJson(facts)["limits"];
  EXPECT_EQ(limits["max_transfer_bytes"], 1 << 20);
  EXPECT_EQ(limits["max_out_bytes"], (1 << 20) + 16);
  EXPECT_EQ(limits["max_in_bytes"], (1 << 20) + 1);
  const std::string text = InfoText(facts);
  EXPECT_THAT(text, HasSubstr("1 MiB (1048576 bytes) of data in one request"));
  EXPECT_THAT(text, HasSubstr("1048592 bytes out, 1048577 bytes in"));
  EXPECT_THAT(text, testing::Not(HasSubstr("4 MiB")));
}

TEST(InfoReportTest, DevicesOfOtherTypesTellWhatTheTargetTakes) {
  const DeviceFacts facts{"tcp://host/x", "tcp://192.0.2.1:8549", {}, nullptr};
  EXPECT_EQ(InfoJson(facts)["limits"]["max_out_bytes"], facts.session.max_out_bytes);
  EXPECT_THAT(InfoText(facts), testing::Not(HasSubstr("largest transfer")));
}

TEST(InfoReportTest, WhatTravelsInsideMessagesIsToldWhereItDoes) {
  SessionInfo session;
  EXPECT_THAT(InfoText({"tcp://host/x", "", session, nullptr}),
              testing::Not(HasSubstr("inside messages")));
  session.inline_request_bytes = 4160;
  session.inline_completion_bytes = 4100;
  const DeviceFacts facts{"ofi://host/x", "", session, nullptr};
  EXPECT_THAT(InfoText(facts), HasSubstr("up to 4160 bytes of a request, 4100 of a result"));
  EXPECT_EQ(InfoJson(facts)["limits"]["inline_request_bytes"], 4160);
  EXPECT_EQ(InfoJson(facts)["limits"]["inline_completion_bytes"], 4100);
}

TEST(InfoReportTest, ATailThatIsNoBlockIsTold) {
  BlkInfo blk;
  const DeviceFacts facts{"tcp://host/x", "tcp://192.0.2.1:8549", {}, &blk};
  EXPECT_THAT(InfoText(facts), testing::Not(HasSubstr("unusable")));
  blk.unusable_tail_bytes = 512;
  EXPECT_THAT(InfoText(facts), HasSubstr("the last 512 bytes: the device ends within a block"));
  EXPECT_EQ(InfoJson(facts)["unusable_tail_bytes"], 512);
}

TEST(InfoReportTest, AWriteCacheIsToldAsFarAsItIsKnown) {
  BlkInfo blk;
  blk.write_cache = true;
  blk.can_set_cache = true;
  const DeviceFacts facts{"tcp://host/x", "tcp://192.0.2.1:8549", {}, &blk};
  EXPECT_THAT(InfoText(facts), HasSubstr("on, can be set\n"));
  EXPECT_EQ(InfoJson(facts)["write_cache_known"], true);
  blk.can_set_cache = false;
  blk.write_cache_known = false;
  EXPECT_THAT(InfoText(facts), HasSubstr("taken for on, since the device does not tell\n"));
  EXPECT_EQ(InfoJson(facts)["write_cache"], true);
  EXPECT_EQ(InfoJson(facts)["write_cache_known"], false);
}

TEST(InfoReportTest, ASerialCannotForgeALine) {
  BlkInfo blk;
  blk.serial = "\x1b[31m\ncapacity 1\xff\"";
  const DeviceFacts facts{"tcp://host/x", "tcp://192.0.2.1:8549", {}, &blk};
  EXPECT_THAT(InfoText(facts), HasSubstr(R"("\x1b[31m\ncapacity 1\xff\"")"));
}

}  // namespace
}  // namespace vof
