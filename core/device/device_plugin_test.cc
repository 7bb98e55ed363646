// SPDX-License-Identifier: Apache-2.0
#include "core/device/device_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vof {
namespace {

using ::testing::HasSubstr;

constexpr char kCounterPlugin[] = "core/device/libcounter_plugin.so";
constexpr char kForeignPlugin[] = "core/device/libforeign_plugin.so";

TEST(DevicePluginTest, RegistersATypeThatMakesDevices) {
  DeviceFactoryRegistry registry;
  const absl::Status status = LoadDevicePlugin(kCounterPlugin, &registry);
  ASSERT_TRUE(status.ok()) << status;
  const auto factory = registry.Find("test-counter");
  ASSERT_TRUE(factory.ok()) << factory.status();
  EXPECT_FALSE(CheckDeviceOptions(**factory, {{"step", "3"}}));
  const auto problem = CheckDeviceOptions(**factory, {{"step", "x"}});
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->key, "step");
  const auto device = (*factory)->Make("counter", {{"step", "3"}});
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ((*device)->num_queues(), 1);
  EXPECT_TRUE((*device)->OpenQueue(0).ok());
}

TEST(DevicePluginTest, LoadingTwiceIsRefusedAsATypeRegisteredTwice) {
  DeviceFactoryRegistry registry;
  ASSERT_TRUE(LoadDevicePlugin(kCounterPlugin, &registry).ok());
  const absl::Status status = LoadDevicePlugin(kCounterPlugin, &registry);
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(status.message()), HasSubstr("test-counter"));
}

TEST(DevicePluginTest, NamesAFileThatIsNotThere) {
  DeviceFactoryRegistry registry;
  const absl::Status status = LoadDevicePlugin("/nonexistent/x.so", &registry);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/nonexistent/x.so"));
}

TEST(DevicePluginTest, RefusesALibraryWithoutTheEntryPoint) {
  DeviceFactoryRegistry registry;
  const absl::Status status = LoadDevicePlugin("libc.so.6", &registry);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("vof_device_plugin_v1"));
}

TEST(DevicePluginTest, RefusesAnotherAbiBeforeRunningIt) {
  DeviceFactoryRegistry registry;
  const absl::Status status = LoadDevicePlugin(kForeignPlugin, &registry);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("built for another program"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("seam 0"));
}

}  // namespace
}  // namespace vof
