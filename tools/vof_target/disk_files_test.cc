// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/disk_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace vof {
namespace {

using testing::HasSubstr;

DeviceConfig Disk(const std::string& name, const std::string& path, bool read_only = false) {
  DeviceConfig device;
  device.name.value = name;
  device.type = "blk";
  device.where = name;
  device.AddOption("store", "file", name + " store");
  device.AddOption("path", path, name + " path");
  if (read_only) device.AddOption("read_only", "true", name + " read_only");
  return device;
}

SettingErrors Checked(std::vector<DeviceConfig> devices) {
  TargetConfig config;
  config.devices = std::move(devices);
  return CheckDiskFiles(config);
}

TEST(CheckDiskFilesTest, EachOneThatWritesNeedsItsOwn) {
  const SettingErrors errors = Checked({Disk("a", "/x"), Disk("b", "/y"), Disk("c", "/x")});
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].where, "c path");
  EXPECT_THAT(errors[0].message, HasSubstr("\"/x\" is the file of \"a\", too"));
}

TEST(CheckDiskFilesTest, AFileIsTheSameHoweverItIsWritten) {
  const std::string folder = testing::TempDir() + "/disk_files";
  std::filesystem::create_directories(folder);
  std::filesystem::remove(folder + "/link");
  std::filesystem::create_symlink(folder, folder + "/link");
  for (const char* other : {"/./x", "//x", "/../disk_files/x", "/link/x"}) {
    EXPECT_EQ(Checked({Disk("a", folder + "/x"), Disk("b", folder + other)}).size(), 1u) << other;
  }
  EXPECT_TRUE(Checked({Disk("a", folder + "/x"), Disk("b", folder + "/xx")}).empty());
}

TEST(CheckDiskFilesTest, OneThatWritesLeavesNoneToReaders) {
  EXPECT_EQ(Checked({Disk("a", "/x"), Disk("b", "/x", true)}).size(), 1u);
  EXPECT_EQ(Checked({Disk("a", "/x", true), Disk("b", "/x")}).size(), 1u);
}

TEST(CheckDiskFilesTest, ReadersShare) {
  EXPECT_TRUE(Checked({Disk("a", "/x", true), Disk("b", "/x", true)}).empty());
}

TEST(CheckDiskFilesTest, OthersHaveNoFile) {
  DeviceConfig other = Disk("o", "/x");
  other.type = "fan";
  DeviceConfig wrong = Disk("w", "/x");
  wrong.AddOption("queues", "no number", "");
  DeviceConfig memory;
  memory.type = "blk";
  memory.AddOption("store", "memory", "");
  memory.AddOption("size", "1M", "");
  EXPECT_TRUE(Checked({Disk("a", "/x"), other, wrong, memory, memory}).empty());
}

}  // namespace
}  // namespace vof
