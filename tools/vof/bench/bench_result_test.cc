// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/bench/bench_result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace vof {
namespace {

BenchOptions MixedOptions() {
  BenchOptions options;
  options.uri = "tcp://host/disk";
  options.access = *ParseAccess("randrw");
  options.queue_size = 128;
  return options;
}

std::unique_ptr<BenchResult> MixedResult() {
  auto result = std::make_unique<BenchResult>();
  result->elapsed = 2 * kNanosecondsPerSecond;
  for (int i = 0; i < 700; ++i) result->reads.Record(20'000);
  for (int i = 0; i < 300; ++i) result->writes.Record(40'000);
  return result;
}

TEST(BenchResultTest, JsonHasRatesOfEachDirectionAndOfAll) {
  const auto json = BenchJson(MixedOptions(), *MixedResult());
  EXPECT_EQ(json["rw"], "randrw");
  EXPECT_EQ(json["read"]["iops"], 350.0);
  EXPECT_EQ(json["write"]["iops"], 150.0);
  EXPECT_EQ(json["total"]["iops"], 500.0);
  EXPECT_EQ(json["total"]["bytes_per_s"], 500.0 * 4096);
  EXPECT_EQ(json["read"]["latency_ns"]["max"], 20'000);
  EXPECT_EQ(json["total"]["latency_ns"]["min"], 20'000);
  EXPECT_EQ(json["total"]["latency_ns"]["max"], 40'000);
  EXPECT_EQ(json["elapsed_s"], 2.0);
  EXPECT_EQ(json["queue_size"], 128);
}

TEST(BenchResultTest, EmptyListsAreBracketsAndNothingDividesByZero) {
  const auto nothing = std::make_unique<BenchResult>();
  const std::string text = BenchJson(MixedOptions(), *nothing).dump();
  EXPECT_NE(text.find("\"error_samples\":[]"), std::string::npos) << text;
  EXPECT_NE(text.find("\"mismatch_samples\":[]"), std::string::npos) << text;
  EXPECT_NE(text.find("\"iops\":0.0"), std::string::npos) << text;
}

TEST(BenchResultTest, TextShowsOnlyTheDirectionsThatWereUsed) {
  BenchOptions options = MixedOptions();
  const auto result = MixedResult();
  const std::string mixed = BenchText(options, *result);
  EXPECT_NE(mixed.find("\nread "), std::string::npos) << mixed;
  EXPECT_NE(mixed.find("\nwrite "), std::string::npos) << mixed;
  EXPECT_NE(mixed.find("\nall "), std::string::npos) << mixed;
  options.access = *ParseAccess("read");
  const std::string reads = BenchText(options, *result);
  EXPECT_EQ(reads.find("\nwrite "), std::string::npos) << reads;
  EXPECT_EQ(reads.find("\nall "), std::string::npos) << reads;
}

TEST(BenchResultTest, MergeAddsCountsAndBoundsSamples) {
  auto total = std::make_unique<BenchResult>();
  for (int i = 0; i < 5; ++i) {
    auto part = MixedResult();
    part->errors = 3;
    part->error_samples = {"a", "b", "c"};
    part->elapsed = Milliseconds(1000 + i);
    total->Merge(*part);
  }
  EXPECT_EQ(total->operations(), 5000u);
  EXPECT_EQ(total->errors, 15u);
  EXPECT_EQ(total->error_samples.size(), BenchResult::kMaxSamples);
  EXPECT_EQ(total->elapsed, Milliseconds(1004));
}

}  // namespace
}  // namespace vof
