// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/memory_demand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace vof {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint64_t kGib = uint64_t{1} << 30;

DeviceConfig Disk(const std::string& store, const std::string& size) {
  DeviceConfig device;
  device.type = "blk";
  device.AddOption("store", store, "");
  device.AddOption("size", size, "");
  return device;
}

TEST(MemoryDemandTest, WhatFitsIsNoWarning) {
  TargetConfig config;
  config.devices = {Disk("memory", "1G"), Disk("memory", "1G")};
  EXPECT_EQ(MemoryWarning(config, 2 * kGib + kDefaultPoolBytes), "");
  EXPECT_NE(MemoryWarning(config, 2 * kGib + kDefaultPoolBytes - 1), "");
}

TEST(MemoryDemandTest, DisksOfMemoryCountAndOthersDoNot) {
  TargetConfig config;
  config.devices = {Disk("null", "2T")};
  EXPECT_EQ(MemoryWarning(config, kGib), "");
  config.devices.push_back(Disk("memory", "2T"));
  EXPECT_THAT(MemoryWarning(config, kGib), AllOf(HasSubstr("2 TiB"), HasSubstr("1 GiB")));
}

TEST(MemoryDemandTest, EachReactorHasAPool) {
  // Not on the stack: GCC 12 takes the text of an absent value there for uninitialized.
  const auto config = std::make_unique<TargetConfig>();
  config->pool_bytes.value = kGib;
  config->reactors.emplace().value = 4;
  EXPECT_EQ(MemoryWarning(*config, 4 * kGib), "");
  EXPECT_THAT(MemoryWarning(*config, 4 * kGib - 1), HasSubstr("pools of 4 GiB"));
}

TEST(MemoryDemandTest, SizesDoNotWrapAround) {
  TargetConfig config;
  config.devices = {Disk("memory", "8388607T"), Disk("memory", "8388607T"),
                    Disk("memory", "8388607T")};
  EXPECT_NE(MemoryWarning(config, kGib), "");
}

}  // namespace
}  // namespace vof
