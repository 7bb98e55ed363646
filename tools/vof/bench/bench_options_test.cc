// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/bench/bench_options.h"

#include <gtest/gtest.h>

#include <string>

namespace vof {
namespace {

constexpr BenchDevice kDevice{.capacity_bytes = 1 << 20,
                              .block_bytes = 512,
                              .max_request_bytes = 1 << 20,
                              .read_only = false};

BenchOptions Options(std::string_view access) {
  BenchOptions options;
  options.uri = "tcp://host/disk";
  options.access = *ParseAccess(access);
  return options;
}

// Whether the plan is refused with a text that contains `text`.
void ExpectRefused(const BenchOptions& options, const BenchDevice& device, std::string_view text) {
  const auto plan = PlanBench(options, device);
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(std::string(plan.status().message()).find(text), std::string::npos) << plan.status();
}

TEST(BenchOptionsTest, EveryAccessIsParsedAndNamed) {
  for (const char* name : {"read", "write", "randread", "randwrite", "rw", "randrw"}) {
    const auto access = ParseAccess(name);
    ASSERT_TRUE(access.ok()) << name;
    EXPECT_EQ(AccessName(*access), name);
  }
  EXPECT_EQ(ParseAccess("rw")->read_percent, 70);
  EXPECT_EQ(ParseAccess("randrw", 30)->read_percent, 30);
  EXPECT_FALSE(ParseAccess("random").ok());
}

TEST(BenchOptionsTest, AMixIsOfReadsAndWrites) {
  for (const char* name : {"read", "write", "randread", "randwrite"}) {
    const auto access = ParseAccess(name, 30);
    EXPECT_NE(std::string(access.status().message()).find("--mix is for rw and randrw"),
              std::string::npos)
        << access.status();
  }
}

TEST(BenchOptionsTest, ADepthThatIsNotReachedIsToldOf) {
  BenchOptions options = Options("read");
  options.depth = 64;
  options.queue_size = 64;
  EXPECT_EQ(DepthNote(options), "");
  options.queue_size = 16;
  const std::string note = DepthNote(options);
  for (const char* part : {"--depth 64", "tcp://host/disk", "at most 16"}) {
    EXPECT_NE(note.find(part), std::string::npos) << note;
  }
}

TEST(BenchOptionsTest, RandomQueuesShareTheSpan) {
  BenchOptions options = Options("randread");
  options.queues = 4;
  const auto plan = PlanBench(options, kDevice);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->num_blocks, 256u);
  EXPECT_EQ(plan->blocks_per_queue, 256u);
  EXPECT_EQ(plan->FirstBlock(3), 0u);
}

TEST(BenchOptionsTest, SequentialAndVerifyingQueuesHaveTheirOwnPart) {
  BenchOptions options = Options("read");
  options.queues = 4;
  auto plan = PlanBench(options, kDevice);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->blocks_per_queue, 64u);
  EXPECT_EQ(plan->FirstBlock(3), 192u);

  options = Options("randrw");
  options.queues = 2;
  options.verify = true;
  plan = PlanBench(options, kDevice);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->FirstBlock(1), 128u);
}

TEST(BenchOptionsTest, RefusalsNameTheLimit) {
  BenchOptions options = Options("randread");
  options.block_bytes = 1000;
  ExpectRefused(options, kDevice, "--bs 1000: not a multiple of the device's block size, 512");
  options.block_bytes = 2 << 20;
  ExpectRefused(options, kDevice, "at most 1048576 bytes (1 MiB)");
  options.block_bytes = 4096;
  options.span_bytes = 2 << 20;
  ExpectRefused(options, kDevice, "--size 2097152: the device has only 1048576 bytes");
  options.span_bytes = 1024;
  ExpectRefused(options, kDevice, "holds no block of 4096 bytes");
  options = Options("randread");
  options.depth = 4096;
  options.block_bytes = 1 << 20;
  ExpectRefused(options, kDevice, "--depth 4096: with blocks of 1 MiB");
  options = Options("randrw");
  options.verify = true;
  options.depth = 256;
  ExpectRefused(options, kDevice, "--verify needs more blocks than requests in flight");
}

TEST(BenchOptionsTest, ReadOnlyDevicesAreOnlyRead) {
  BenchDevice device = kDevice;
  device.read_only = true;
  EXPECT_TRUE(PlanBench(Options("randread"), device).ok());
  const auto plan = PlanBench(Options("randrw"), device);
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace vof
