// SPDX-License-Identifier: Apache-2.0
//
// The C++ of README.md: it needs no more than it includes, reads a disk, and returns its errors.
//
// First, so that nothing else includes for it.
#include "testing/docs/readme_snippet.inc"

#include <gtest/gtest.h>

#include <vector>

#include "core/runtime/target.h"
#include "devices/blk/blk_device.h"
#include "devices/blk/store_memory.h"

namespace vof {
namespace {

TEST(ReadmeSnippetTest, ReadsADiskAndReturnsErrors) {
  BackendRegistry registry;
  RegisterTcp(registry);
  auto target = TargetServer::Start({}, &registry);
  ASSERT_TRUE(target.ok()) << target.status();
  auto store = MakeMemoryStore({.size_bytes = 1 << 20});
  ASSERT_TRUE(store.ok()) << store.status();
  auto disk = MakeBlkDevice({}, *store);
  ASSERT_TRUE(disk.ok()) << disk.status();
  ASSERT_TRUE((*target)->AddDevice("disk0", *disk).ok());
  ASSERT_TRUE((*target)->Listen("tcp://127.0.0.1:0").ok());
  const std::string address = (*target)->DeviceUris("disk0").at(0);

  std::vector<std::byte> blocks(4096, std::byte{0xff});
  EXPECT_EQ(ReadStart(address, blocks), absl::OkStatus());
  EXPECT_EQ(blocks, std::vector<std::byte>(4096));
  EXPECT_FALSE(ReadStart(address + "1", blocks).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(ReadStart("disk0", blocks)));
}

}  // namespace
}  // namespace vof
