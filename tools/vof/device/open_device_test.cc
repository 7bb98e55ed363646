// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/device/open_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tools/vof/shell/interrupt.h"

namespace vof {
namespace {

using ::testing::HasSubstr;

TEST(OpenDeviceTest, OneDeviceIsNotTwo) {
  const std::string disk = "tcp://Storage/disk0";
  for (const char* same : {"tcp://Storage/disk0", "tcp://storage:8549/disk0?queues=4"}) {
    const absl::Status refused = CheckTwoDevices("a copy", disk, same);
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << same;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("the same device: a copy needs two"));
  }
  for (const char* other : {"tcp://storage/disk1", "tcp://storage:8550/disk0",
                            "ofi://storage/disk0", "tcp://backup/disk0", "disk0", "-"}) {
    EXPECT_TRUE(CheckTwoDevices("a copy", disk, other).ok()) << other;
  }
}

TEST(OpenDeviceTest, APortThatCannotBeConnectedToIsWrongUsage) {
  const CommonFlags flags;
  Output output("info", {});
  BackendRegistry backends;
  Interrupts interrupts([] {});
  const VerbContext context{
      .flags = flags, .output = output, .backends = backends, .interrupts = interrupts};
  const absl::Status refused = ResolveUri("tcp://h:0/x", context).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("tcp://h:0/x: port 0"));
  EXPECT_TRUE(ResolveUri("tcp://h:1/x", context).ok());
}

}  // namespace
}  // namespace vof
