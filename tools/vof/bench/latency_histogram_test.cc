// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/bench/latency_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

namespace vof {
namespace {

// 37 KiB: kept off the stack.
std::unique_ptr<LatencyHistogram> Make() { return std::make_unique<LatencyHistogram>(); }

TEST(LatencyHistogramTest, EmptyHasZeros) {
  auto h = Make();
  EXPECT_EQ(h->count(), 0u);
  EXPECT_EQ(h->min(), 0);
  EXPECT_EQ(h->max(), 0);
  EXPECT_EQ(h->Mean(), 0);
  EXPECT_EQ(h->Percentile(50), 0);
  EXPECT_EQ(h->Percentile(100), 0);
}

TEST(LatencyHistogramTest, SmallValuesAreExact) {
  auto h = Make();
  for (int v = 1; v <= 100; ++v) h->Record(v);
  EXPECT_EQ(h->min(), 1);
  EXPECT_EQ(h->max(), 100);
  EXPECT_EQ(h->Percentile(50), 50);
  EXPECT_EQ(h->Percentile(90), 90);
  EXPECT_EQ(h->Percentile(99), 99);
  EXPECT_EQ(h->Percentile(99.9), 100);
  EXPECT_EQ(h->Percentile(0), 1);
  EXPECT_EQ(h->Mean(), 50);
}

TEST(LatencyHistogramTest, OneValueIsEveryPercentile) {
  for (const Nanoseconds value : {0l, 1l, 127l, 128l, 255l, 256l, 257l, 1'000'003l, 1l << 40}) {
    auto h = Make();
    h->Record(value);
    for (const double percent : {0.0, 50.0, 99.9, 100.0}) EXPECT_EQ(h->Percentile(percent), value);
  }
}

TEST(LatencyHistogramTest, ErrorStaysBelowOnePercentAtEveryPowerOfTwo) {
  for (int bit = 0; bit < 42; ++bit) {
    for (const Nanoseconds delta : {-1, 0, 1, 3}) {
      const Nanoseconds value = std::max<Nanoseconds>((Nanoseconds{1} << bit) + delta, 0);
      auto h = Make();
      h->Record(value);
      h->Record(LatencyHistogram::kLargest);  // so that the maximum does not hide the bucket's end
      const Nanoseconds reported = h->Percentile(50);
      EXPECT_GE(reported, value) << value;
      EXPECT_LE(static_cast<double>(reported - value), static_cast<double>(value) / 128.0) << value;
    }
  }
}

TEST(LatencyHistogramTest, OutOfRangeValuesAreKept) {
  auto h = Make();
  h->Record(-5);
  h->Record(LatencyHistogram::kLargest * 4);
  EXPECT_EQ(h->count(), 2u);
  EXPECT_EQ(h->min(), 0);
  EXPECT_EQ(h->max(), LatencyHistogram::kLargest * 4);
  EXPECT_EQ(h->Percentile(100), LatencyHistogram::kLargest);
}

TEST(LatencyHistogramTest, AgreesWithSortedValuesOfARandomSample) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> latency(10.0, 1.5);
  auto h = Make();
  std::vector<Nanoseconds> values;
  for (int i = 0; i < 50'000; ++i) {
    values.push_back(static_cast<Nanoseconds>(latency(random)));
    h->Record(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double percent : {1.0, 50.0, 90.0, 99.0, 99.9}) {
    const auto rank = static_cast<size_t>(std::ceil(percent / 100.0 * values.size()));
    const auto exact = static_cast<double>(values[rank - 1]);
    EXPECT_NEAR(static_cast<double>(h->Percentile(percent)), exact, exact / 100.0) << percent;
  }
}

TEST(LatencyHistogramTest, MergeEqualsRecordingInOne) {
  auto a = Make(), b = Make(), both = Make();
  for (int i = 0; i < 1000; ++i) {
    (i % 3 == 0 ? a : b)->Record(i * 977);
    both->Record(i * 977);
  }
  a->Merge(*b);
  a->Merge(*Make());
  EXPECT_EQ(a->count(), both->count());
  EXPECT_EQ(a->min(), both->min());
  EXPECT_EQ(a->max(), both->max());
  EXPECT_EQ(a->Mean(), both->Mean());
  for (const double percent : {10.0, 50.0, 99.0}) {
    EXPECT_EQ(a->Percentile(percent), both->Percentile(percent));
  }
}

}  // namespace
}  // namespace vof
