// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/blk_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/config/option_text.h"
#include "tools/vof_target/blk_factory.h"

namespace vof {
namespace {

using ::testing::HasSubstr;

// "KEY: MESSAGE", or "" when the options are good.
std::string Check(std::string_view text) {
  const BlkFactory factory;
  const auto problem = CheckDeviceOptions(factory, *ParseOptionText(text));
  return problem ? problem->key + ": " + problem->message : "";
}

TEST(BlkSpecTest, ReadsEveryOption) {
  BlkSpec spec;
  const auto problem = ParseBlkSpec(
      *ParseOptionText("store=file,path=/a,,b,size=64M,direct,io=uring,read_only=yes,shared=true,"
                       "block_size=4096,queues=256,queue_size=4096,serial=abc,write_cache=false"),
      &spec);
  ASSERT_FALSE(problem) << problem->message;
  EXPECT_EQ(spec.store, BlkStoreKind::kFile);
  EXPECT_EQ(spec.path, "/a,b");
  EXPECT_EQ(spec.size_bytes, 64u << 20);
  EXPECT_TRUE(spec.direct);
  EXPECT_EQ(spec.io, FileIo::kUring);
  EXPECT_TRUE(spec.options.read_only);
  EXPECT_TRUE(spec.options.shareable);
  EXPECT_EQ(spec.options.block_size_bytes, 4096u);
  EXPECT_EQ(spec.options.num_queues, 256);
  EXPECT_EQ(spec.options.max_queue_size, 4096);
  EXPECT_EQ(spec.options.serial, "abc");
  EXPECT_FALSE(spec.options.write_cache);
}

TEST(BlkSpecTest, ShortestUsefulOptions) {
  EXPECT_EQ(Check("store=memory,size=1G"), "");
  EXPECT_EQ(Check("store=memory,size=1G,hugepages=reserved"), "");
  EXPECT_EQ(Check("store=null,size=1T"), "");
  EXPECT_EQ(Check("store=file,path=/x"), "");
  EXPECT_EQ(Check("store=file,path=/x,io=auto"), "");
}

TEST(BlkSpecTest, RefusesWithKeyAndReason) {
  const struct {
    const char* text;
    const char* reason;
  } kCases[] = {
      {"size=1G", ": a block device needs a store: memory, null or file"},
      {"store=disk", "store: unknown store \"disk\"; known: memory, null, file"},
      {"store=memory", ": a memory or null store needs a size"},
      {"store=file", ": a file store needs a path"},
      {"store=file,path=", ": a file store needs a path"},
      {"store=memory,size=0", "size: the disk size is 0 bytes"},
      {"store=memory,size=1000", "size: the disk size of 1000 bytes is not a multiple"},
      {"store=memory,size=512,block_size=4096", "size: the disk size of 512 bytes"},
      {"store=memory,size=8E", "size: 8E is above the largest size"},
      {"store=memory,size=1X", "size: \"1X\" is not a size"},
      {"store=memory,size=1G,path=/x", "path: only a file store has the option"},
      {"store=null,size=1G,hugepages=off", "hugepages: only a memory store has the option"},
      {"store=memory,size=1G,direct=false", "direct: only a file store"},
      {"store=null,size=1G,io=uring", "io: only a file store has the option"},
      {"store=file,path=/x,io=aio", "io: unknown value \"aio\"; known: auto, uring"},
      {"store=memory,size=1G,hugepages", "hugepages: unknown value \"true\"; known: off"},
      {"store=null,size=1G,read_only=2", "read_only: \"2\" is neither true nor false"},
      {"store=null,size=1G,block_size=1024", "block_size: \"1024\" is neither 512 nor 4096"},
      {"store=null,size=1G,queues=0", "queues: \"0\" is not a number between 1 and 256"},
      {"store=null,size=1G,queues=257", "between 1 and 256"},
      {"store=null,size=1G,queue_size=4097", "between 1 and 4096"},
      {"store=null,size=1G,queue_size=-1", "between 1 and 4096"},
      {"store=null,size=1G,serial=123456789012345678901", "serial: serial \"1234"},
      {"store=null,size=1G,serial=\n", "serial: serial has a character"},
      {"store=memory,serial=\n", "serial: serial has a character"},  // and not the missing size
      {"store=file,path=/x,direct,io=calls", "io: \"calls\" are plain calls"},
      {"store=null,size=1G,size=2G", "size: \"size\" is given twice"},
      {"store=null,size=1G,sise=2G",
       "sise: device type \"blk\" has no option \"sise\"; known: "
       "store, size, path, direct, io, hugepages, read_only, shared, "
       "block_size, queues, queue_size, serial, write_cache"},
  };
  for (const auto& c : kCases) EXPECT_THAT(Check(c.text), HasSubstr(c.reason)) << c.text;
}

}  // namespace
}  // namespace vof
