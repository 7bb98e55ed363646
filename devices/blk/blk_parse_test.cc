// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/blk_parse.h"

#include <random>
#include <set>
#include <string>
#include <vector>

#include "devices/blk/blk_wire.h"
#include "devices/blk/testing/driver_double.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

constexpr BlkParseLimits kEverything = {.capacity_sectors = 1000,
                                        .allow_flush = true,
                                        .allow_discard = true,
                                        .allow_write_zeroes = true};

// The data of a write refers to the list of pieces, which is gone here.
struct Parsed {
  BlkRule rule;
  BlkOperation operation = {};
  BlkRanges ranges = {};
};

Parsed Parse(const Bytes& readable, uint32_t writable_bytes,
             const BlkParseLimits& limits = kEverything) {
  const ConstBuffer piece(readable.data(), readable.size());
  Parsed out;
  out.rule = ParseBlk({&piece, 1}, writable_bytes, limits, &out.operation, &out.ranges);
  return out;
}

Bytes Segment(uint32_t type, TestSegment segment) { return BlkSegmentsRequest(type, {segment}); }

TEST(BlkParseTest, EveryRuleHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (int i = 0; i < kNumBlkRules; ++i) names.insert(DescribeBlkRule(static_cast<BlkRule>(i)));
  EXPECT_EQ(names.size(), static_cast<size_t>(kNumBlkRules));
  EXPECT_EQ(DescribeBlkRule(BlkRule::kUnmapInDiscard), "a discard segment has the unmap flag set");
}

TEST(BlkParseTest, Rules) {
  EXPECT_EQ(Parse(BlkReadRequest(0), 0).rule, BlkRule::kNoRoomForStatus);
  EXPECT_EQ(Parse(Bytes(15), 1).rule, BlkRule::kHeaderTooShort);
  EXPECT_EQ(Parse(BlkRequestBytes(2, 0), 1).rule, BlkRule::kUnknownType);
  EXPECT_EQ(Parse(BlkRequestBytes(kBlkTypeFlush, 0), 1, {}).rule, BlkRule::kNotNegotiated);
  EXPECT_EQ(Parse(Segment(kBlkTypeDiscard, {0, 1}), 1, {}).rule, BlkRule::kNotNegotiated);
  EXPECT_EQ(Parse(Segment(kBlkTypeWriteZeroes, {0, 1}), 1, {}).rule, BlkRule::kNotNegotiated);
  EXPECT_EQ(Parse(BlkWriteRequest(0, Bytes(512)), 1, {.read_only = true}).rule, BlkRule::kReadOnly);
  EXPECT_EQ(Parse(BlkReadRequest(0), 2).rule, BlkRule::kDataNotSectors);
  EXPECT_EQ(Parse(BlkReadRequest(0), kMaxDataBytes + 513).rule, BlkRule::kDataTooLong);
  EXPECT_EQ(Parse(BlkReadRequest(999), 1025).rule, BlkRule::kPastEnd);
  EXPECT_EQ(Parse(BlkRequestBytes(kBlkTypeDiscard, 0), 1).rule, BlkRule::kBadSegmentList);
  EXPECT_EQ(Parse(BlkRequestBytes(kBlkTypeDiscard, 0, Bytes(15)), 1).rule,
            BlkRule::kBadSegmentList);
  EXPECT_EQ(Parse(BlkRequestBytes(kBlkTypeDiscard, 0, Bytes(17 * 16)), 1).rule,
            BlkRule::kTooManySegments);
  const BlkParseLimits large = {
      .capacity_sectors = 1u << 30, .allow_discard = true, .allow_write_zeroes = true};
  EXPECT_EQ(Parse(Segment(kBlkTypeDiscard, {0, kBlkMaxDiscardSectors + 1}), 1, large).rule,
            BlkRule::kSegmentTooLong);
  EXPECT_EQ(Parse(Segment(kBlkTypeDiscard, {0, kBlkMaxDiscardSectors}), 1, large).rule,
            BlkRule::kNone);
  EXPECT_EQ(Parse(Segment(kBlkTypeWriteZeroes, {0, kBlkMaxWriteZeroesSectors + 1}), 1, large).rule,
            BlkRule::kSegmentTooLong);
  EXPECT_EQ(Parse(Segment(kBlkTypeWriteZeroes, {0, 1, 2}), 1).rule, BlkRule::kReservedFlags);
  EXPECT_EQ(Parse(Segment(kBlkTypeDiscard, {0, 1, 1}), 1).rule, BlkRule::kUnmapInDiscard);
}

TEST(BlkParseTest, AlignmentOfTheStoreIsEnforced) {
  BlkParseLimits limits = kEverything;
  limits.alignment_sectors = 8;
  EXPECT_EQ(Parse(BlkReadRequest(8), 4097, limits).rule, BlkRule::kNone);
  EXPECT_EQ(Parse(BlkReadRequest(9), 4097, limits).rule, BlkRule::kMisaligned);
  EXPECT_EQ(Parse(BlkReadRequest(8), 513, limits).rule, BlkRule::kMisaligned);
  EXPECT_EQ(Parse(Segment(kBlkTypeDiscard, {1, 8}), 1, limits).rule, BlkRule::kMisaligned);
  EXPECT_EQ(Parse(Segment(kBlkTypeWriteZeroes, {8, 9}), 1, limits).rule, BlkRule::kMisaligned);
}

TEST(BlkParseTest, OperationsCarryTheirFields) {
  const Parsed read = Parse(BlkReadRequest(7), 1025);
  EXPECT_EQ(read.operation.verb, BlkVerb::kRead);
  EXPECT_EQ(read.operation.offset_bytes, 7 * 512u);
  EXPECT_EQ(read.operation.length_bytes, 1024u);
  const Bytes request = BlkWriteRequest(3, PatternBytes(512, 1));
  const ConstBuffer piece(request.data(), request.size());
  Parsed write;
  write.rule = ParseBlk({&piece, 1}, 1, kEverything, &write.operation, &write.ranges);
  EXPECT_EQ(write.operation.verb, BlkVerb::kWrite);
  EXPECT_EQ(write.operation.data.remaining_bytes(), 512u);
  EXPECT_EQ(write.operation.data.Next(SIZE_MAX).data, request.data() + 16);
  const Parsed zeroes =
      Parse(BlkSegmentsRequest(kBlkTypeWriteZeroes, {{1, 2, 1}, {3, 4, 0}, {1000, 0, 0}}), 1);
  EXPECT_EQ(zeroes.rule, BlkRule::kNone);
  ASSERT_EQ(zeroes.operation.num_ranges, 3u);
  EXPECT_TRUE(zeroes.ranges[0].may_unmap);
  EXPECT_FALSE(zeroes.ranges[1].may_unmap);
  EXPECT_EQ(zeroes.ranges[1].offset_bytes, 3 * 512u);
  EXPECT_EQ(zeroes.ranges[1].length_bytes, 4 * 512u);
}

// Whatever the bytes are, what is accepted lies inside the disk; wherever the cuts are, the verdict
// is the same.
TEST(BlkParseTest, RandomRequestsNeverEscapeAndCutsDoNotMatter) {
  std::mt19937_64 random(5);
  const uint64_t kSectors[] = {0, 1, 999, 1000, 1001, uint64_t{1} << 55, ~uint64_t{0}, 500};
  const uint32_t kTypes[] = {
      kBlkTypeIn,          kBlkTypeOut, kBlkTypeFlush, kBlkTypeGetId, kBlkTypeDiscard,
      kBlkTypeWriteZeroes, 14};
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<TestSegment> segments(random() % 20);
    for (TestSegment& s : segments) {
      s = {kSectors[random() % 8], static_cast<uint32_t>(kSectors[random() % 8]),
           static_cast<uint32_t>(random() % 40 == 0 ? random() : random() % 2)};
    }
    const uint32_t type = kTypes[random() % 7];
    Bytes bytes = BlkSegmentsRequest(type, segments);
    if (type == kBlkTypeOut)
      bytes = BlkWriteRequest(kSectors[random() % 8], Bytes(random() % 5 * 512));
    if (type == kBlkTypeIn) bytes = BlkReadRequest(kSectors[random() % 8]);
    if (random() % 50 == 0) bytes.resize(random() % (bytes.size() + 1));
    const auto writable = static_cast<uint32_t>(random() % 5 * 512 + random() % 8 / 6 + 1);
    const Parsed whole = Parse(bytes, writable);

    const size_t cut = random() % (bytes.size() + 1);
    const ConstBuffer pieces[] = {ConstBuffer(bytes.data(), cut), ConstBuffer(),
                                  ConstBuffer(bytes.data() + cut, bytes.size() - cut)};
    Parsed cut_parsed;
    cut_parsed.rule =
        ParseBlk(pieces, writable, kEverything, &cut_parsed.operation, &cut_parsed.ranges);
    ASSERT_EQ(whole.rule, cut_parsed.rule);
    if (whole.rule != BlkRule::kNone) continue;
    ++accepted;
    const BlkOperation& op = whole.operation;
    if (op.verb == BlkVerb::kRead || op.verb == BlkVerb::kWrite) {
      ASSERT_LE(op.offset_bytes, 1000 * 512u);
      ASSERT_LE(op.length_bytes, 1000 * 512u - op.offset_bytes);
    } else if (op.verb == BlkVerb::kDiscard || op.verb == BlkVerb::kWriteZeroes) {
      ASSERT_LE(op.num_ranges, kBlkMaxRanges);
      for (uint32_t i = 0; i < op.num_ranges; ++i) {
        ASSERT_LE(whole.ranges[i].offset_bytes, 1000 * 512u);
        ASSERT_LE(whole.ranges[i].length_bytes, 1000 * 512u - whole.ranges[i].offset_bytes);
      }
    }
  }
  EXPECT_GT(accepted, 2000);
}

}  // namespace
}  // namespace vof
