// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/bench/bench_run.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "backends/loopback/loopback_backend.h"
#include "core/runtime/backend.h"
#include "core/runtime/uri.h"
#include "tools/common/machine_memory.h"
#include "tools/vof/bench/loop_target.h"
#include "tools/vof/bench/stamped_size.h"

namespace vof {
namespace {

class BenchRunTest : public testing::Test {
 protected:
  BenchRunTest() {
    RegisterLoopback(backends_);
    uri_ = *ParseUri("loop:///disk?queues=2");
    auto target = StartLoopTarget(uri_, {.size_bytes = 4 << 20, .queues = 2}, &backends_);
    EXPECT_TRUE(target.ok()) << target.status();
    target_ = *std::move(target);
    auto client = BlkClient::Connect(uri_, &backends_, {});
    EXPECT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
    options_.uri = "loop:///disk";
    options_.queues = 2;
    options_.operations = 4000;
    options_.time = 60 * kNanosecondsPerSecond;
  }

  std::unique_ptr<BenchResult> Run(const BenchTick& tick = nullptr) {
    const BlkInfo info = client_->info();
    const auto plan = PlanBench(options_, {.capacity_bytes = info.capacity_bytes,
                                           .block_bytes = info.block_bytes,
                                           .max_request_bytes = info.max_transfer_bytes,
                                           .read_only = info.read_only});
    EXPECT_TRUE(plan.ok()) << plan.status();
    return RunBench(client_.get(), options_, *plan, {.tick = tick});
  }

  BackendRegistry backends_;
  Uri uri_;
  std::unique_ptr<TargetServer> target_;
  std::unique_ptr<BlkClient> client_;
  BenchOptions options_;
};

TEST_F(BenchRunTest, DoesAsManyOperationsAsAsked) {
  options_.access = *ParseAccess("randrw", 50);
  options_.operations = 4001;
  const auto result = Run();
  EXPECT_EQ(result->operations(), 4001u);
  EXPECT_EQ(result->errors, 0u);
  EXPECT_FALSE(result->interrupted);
  EXPECT_GT(result->elapsed, 0);
}

TEST_F(BenchRunTest, VerifiesEverythingThatWasWritten) {
  options_.access = *ParseAccess("write");
  options_.operations = 1024;  // the whole disk, once
  options_.verify = true;
  const auto result = Run();
  EXPECT_EQ(result->writes.count(), 1024u);
  EXPECT_EQ(result->reads.count(), 0u);
  EXPECT_EQ(result->checked_blocks, 1024u);
  EXPECT_EQ(result->mismatches, 0u);
}

TEST_F(BenchRunTest, FindsABlockThatSomethingElseWrote) {
  options_.access = *ParseAccess("write");
  options_.operations = 1024;
  options_.verify = true;
  Run();
  const std::vector<std::byte> other(4096, std::byte{0x77});
  ASSERT_TRUE(client_->Write(40960, other).ok());
  options_.access = *ParseAccess("read");
  options_.operations.reset();
  const auto result = Run();
  // It has ended there, and not with its time.
  EXPECT_LT(result->elapsed, 30 * kNanosecondsPerSecond);
  EXPECT_FALSE(result->interrupted);
  EXPECT_EQ(result->mismatches, 1u);
  ASSERT_EQ(result->mismatch_samples.size(), 1u);
  EXPECT_EQ(result->mismatch_samples[0].find("offset 40960 "), 0u) << result->mismatch_samples[0];
}

TEST_F(BenchRunTest, BlocksOfAnotherSizeAreNoDamage) {
  options_.access = *ParseAccess("write");
  options_.operations = 1024;
  options_.verify = true;
  Run();
  options_.access = *ParseAccess("read");
  EXPECT_EQ(CheckStampedSize(client_.get(), options_), absl::OkStatus());
  for (const uint64_t block_bytes : {512, 8192}) {
    options_.block_bytes = block_bytes;
    const absl::Status other = CheckStampedSize(client_.get(), options_);
    EXPECT_TRUE(absl::IsInvalidArgument(other)) << other;
    EXPECT_NE(other.message().find("--bs 4K"), absl::string_view::npos) << other;
    options_.access = *ParseAccess("write");  // which replaces them
    EXPECT_EQ(CheckStampedSize(client_.get(), options_), absl::OkStatus());
    options_.access = *ParseAccess("read");
  }
}

TEST_F(BenchRunTest, ADamagedHeaderIsNoOtherBlockSize) {
  options_.access = *ParseAccess("write");
  options_.operations = 1024;
  options_.verify = true;
  Run();
  options_.access = *ParseAccess("read");
  std::vector<std::byte> block(4096);
  ASSERT_TRUE(client_->Read(0, block).ok());
  block[29] = std::byte{0x20};  // of the size: 8 KiB
  ASSERT_TRUE(client_->Write(0, block).ok());
  EXPECT_EQ(CheckStampedSize(client_.get(), options_), absl::OkStatus());
  EXPECT_GT(Run()->mismatches, 0u);
}

TEST_F(BenchRunTest, WritingEndsWithTheFirstWrongBlock) {
  options_.access = *ParseAccess("randrw", 50);
  options_.verify = true;
  options_.operations.reset();
  bool damaged = false;
  // Somebody else writes to the disk that is measured.
  const std::vector<std::byte> other(4 << 20, std::byte{0x77});
  const auto result = Run([&](BenchPhase, uint64_t, Nanoseconds) {
    if (!damaged) damaged = client_->Write(0, other).ok();
    return true;
  });
  EXPECT_TRUE(damaged);
  EXPECT_GT(result->mismatches, 0u);
  EXPECT_LT(result->elapsed, 30 * kNanosecondsPerSecond);
}

TEST_F(BenchRunTest, ADiskLargerThanTheMachineIsRefused) {
  const auto refused = StartLoopTarget(*ParseUri("loop:///huge"),
                                       {.size_bytes = MachineMemoryBytes() + 4096}, &backends_);
  EXPECT_TRUE(absl::IsInvalidArgument(refused.status())) << refused.status();
  EXPECT_EQ(refused.status().message().find("--size "), 0u) << refused.status();
}

TEST_F(BenchRunTest, WarmUpIsNotCounted) {
  options_.warmup = Milliseconds(50);
  options_.operations = 100;
  const auto result = Run();
  // Neither are those that it left in flight.
  EXPECT_EQ(result->operations(), 100u);
}

TEST_F(BenchRunTest, TickInterrupts) {
  options_.operations.reset();
  int calls = 0;
  const auto result = Run([&](BenchPhase, uint64_t, Nanoseconds) { return ++calls < 3; });
  EXPECT_EQ(calls, 3);
  EXPECT_TRUE(result->interrupted);
  EXPECT_LT(result->elapsed, 30 * kNanosecondsPerSecond);
}

TEST_F(BenchRunTest, TimeEndsIt) {
  options_.operations.reset();
  options_.time = Milliseconds(150);
  const auto result = Run();
  EXPECT_GE(result->elapsed, Milliseconds(150));
  EXPECT_GT(result->operations(), 0u);
}

TEST_F(BenchRunTest, LostTargetIsCountedAndEnds) {
  options_.operations.reset();
  options_.time = 600 * kNanosecondsPerSecond;
  int calls = 0;
  const auto result = Run([&](BenchPhase, uint64_t, Nanoseconds) {
    if (++calls == 2) target_->Stop();
    return true;
  });
  EXPECT_GT(result->errors, 0u);
  EXPECT_FALSE(result->error_samples.empty());
  EXPECT_FALSE(client_->queue(0).status().ok());
}

}  // namespace
}  // namespace vof
