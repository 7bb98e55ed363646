// SPDX-License-Identifier: Apache-2.0
//
// Latencies of any number of operations in fixed memory, with percentiles good to under 1 percent.
//
//   LatencyHistogram latencies;
//   latencies.Record(now - started);
//   total.Merge(latencies);                        // of several queues
//   Nanoseconds p99 = total.Percentile(99.0);
//
// Buckets are linear within a power of two (as in HdrHistogram): 128 of them each, so a value and
// the bucket it falls into differ by less than 1/128. Up to 127 ns, and for minimum and maximum at
// any size, figures are exact. One owner; recording neither allocates nor branches on the value's
// size.
#ifndef VOF_TOOLS_VOF_BENCH_LATENCY_HISTOGRAM_H_
#define VOF_TOOLS_VOF_BENCH_LATENCY_HISTOGRAM_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/base/time.h"

namespace vof {

class LatencyHistogram {
 public:
  // Negative values count as 0; values above kLargest count as kLargest in percentiles.
  static constexpr Nanoseconds kLargest = (Nanoseconds{1} << 42) - 1;  // 73 minutes

  void Record(Nanoseconds latency) {
    latency = std::max<Nanoseconds>(latency, 0);
    ++buckets_[BucketOf(std::min(latency, kLargest))];
    ++count_;
    sum_ += static_cast<double>(latency);
    min_ = std::min(min_, latency);
    max_ = std::max(max_, latency);
  }

  void Merge(const LatencyHistogram& other) {
    for (size_t i = 0; i < kNumBuckets; ++i) buckets_[i] += other.buckets_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
  }

  uint64_t count() const { return count_; }
  // All of these are 0 when nothing was recorded.
  Nanoseconds min() const { return count_ == 0 ? 0 : min_; }
  Nanoseconds max() const { return max_; }
  Nanoseconds Mean() const {
    return count_ == 0 ? 0 : static_cast<Nanoseconds>(sum_ / static_cast<double>(count_));
  }

  // The smallest latency that at least `percent` (0..100) of the operations did not exceed, as the
  // upper end of its bucket.
  Nanoseconds Percentile(double percent) const {
    const uint64_t rank = RankOf(percent);
    uint64_t seen = 0;
    for (size_t bucket = 0; bucket < kNumBuckets; ++bucket) {
      seen += buckets_[bucket];
      if (seen >= rank && seen > 0) return std::clamp(UpperEnd(bucket), min_, max_);
    }
    return 0;
  }

 private:
  static constexpr int kSubBucketBits = 7;
  static constexpr uint64_t kSubBuckets = 1u << kSubBucketBits;
  static constexpr int kLargestBits = 42;
  // The first 2^7 values have a bucket each; every power of two above has 2^7 buckets.
  static constexpr size_t kNumBuckets = (kLargestBits - kSubBucketBits + 1) * kSubBuckets;

  static size_t BucketOf(Nanoseconds latency) {
    const auto value = static_cast<uint64_t>(latency);
    const int width = std::bit_width(value | (kSubBuckets - 1));
    const int shift = std::max(width - kSubBucketBits - 1, 0);
    return static_cast<size_t>(shift) * kSubBuckets + (value >> shift);
  }
  static Nanoseconds UpperEnd(size_t bucket) {
    if (bucket < 2 * kSubBuckets) return static_cast<Nanoseconds>(bucket);
    const size_t shift = bucket / kSubBuckets - 1;
    const uint64_t lower = (kSubBuckets + bucket % kSubBuckets) << shift;
    return static_cast<Nanoseconds>(lower + (uint64_t{1} << shift) - 1);
  }
  uint64_t RankOf(double percent) const {
    const double exact = percent / 100.0 * static_cast<double>(count_);
    auto rank = static_cast<uint64_t>(exact);
    if (static_cast<double>(rank) < exact) ++rank;
    return std::clamp<uint64_t>(rank, 1, std::max<uint64_t>(count_, 1));
  }

  std::array<uint64_t, kNumBuckets> buckets_{};
  uint64_t count_ = 0;
  double sum_ = 0;
  Nanoseconds min_ = kInfiniteFuture;
  Nanoseconds max_ = 0;
};

}  // namespace vof

#endif  // VOF_TOOLS_VOF_BENCH_LATENCY_HISTOGRAM_H_
