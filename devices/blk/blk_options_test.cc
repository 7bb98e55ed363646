// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/blk_options.h"

#include <string>

#include "devices/blk/blk_config.h"
#include "devices/blk/blk_limits.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

constexpr uint64_t kSize = 1u << 20;

void ExpectRefused(const BlkOptions& options, const std::string& text, StoreTraits traits = {},
                   uint64_t size_bytes = kSize) {
  const absl::Status status = ValidateBlkOptions(options, traits, size_bytes);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
  EXPECT_NE(status.ToString().find(text), std::string::npos) << status;
}

TEST(BlkOptionsTest, DefaultsAreValid) {
  EXPECT_TRUE(ValidateBlkOptions({}, {}, kSize).ok());
  EXPECT_TRUE(ValidateBlkOptions({.serial = "twenty-characters-ab"}, {}, kSize).ok());
  EXPECT_TRUE(
      ValidateBlkOptions({.block_size_bytes = 4096}, {.alignment_bytes = 4096}, kSize).ok());
}

TEST(BlkOptionsTest, ErrorsNameTheValueAndTheLimit) {
  ExpectRefused({.serial = "twenty-one-characters"}, "at most 20");
  ExpectRefused({.serial = "tab\t"}, "printable");
  ExpectRefused({.block_size_bytes = 1024}, "must be 512 or 4096");
  ExpectRefused({}, "units of 4096", {.alignment_bytes = 4096});
  ExpectRefused({}, "read-only", {.read_only = true});
  ExpectRefused({.num_queues = 0}, "num_queues is 0");
  ExpectRefused({.num_queues = 257}, "between 1 and 256");
  ExpectRefused({.max_queue_size = 0}, "max_queue_size is 0");
  ExpectRefused({.max_queue_size = 4097}, "between 1 and 4096");
  ExpectRefused({}, "0 bytes", {}, 0);
  ExpectRefused({}, "not a multiple of the block size of 512", {}, kSize + 1);
  ExpectRefused({.block_size_bytes = 4096}, "not a multiple", {}, kSize + 512);
}

TEST(BlkConfigTest, FeaturesFollowOptionsAndStore) {
  const uint64_t always = kBlkFeatureSizeMax | kBlkFeatureSegMax | kBlkFeatureBlockSize |
                          kBlkFeatureFlush | kBlkFeatureTopology | kBlkFeatureConfigWce |
                          kBlkFeatureMultiQueue;
  EXPECT_EQ(BlkFeatures({}, {}), always | kBlkFeatureDiscard | kBlkFeatureWriteZeroes);
  EXPECT_EQ(BlkFeatures({.read_only = true}, {}),
            (always & ~kBlkFeatureConfigWce) | kBlkFeatureReadOnly);
  EXPECT_EQ(BlkFeatures({.shareable = true}, {}) & kBlkFeatureConfigWce, 0u);
  EXPECT_EQ(BlkFeatures({}, {.can_discard = false}), always | kBlkFeatureWriteZeroes);
  EXPECT_EQ(BlkFeatures({.discard = false, .write_zeroes = false}, {}), always);
}

uint64_t Read(const BlkConfig& config, uint16_t offset, uint8_t bytes) {
  ConfigValue value;
  EXPECT_EQ(config.Read(offset, bytes, &value), ConfigError::kNone) << offset;
  return value.value;
}

TEST(BlkConfigTest, ARequestOfSegMaxSegmentsFitsIntoTheVirtqueue) {
  const struct {
    uint16_t queue_size;
    uint32_t seg_max;
  } kCases[] = {{1, 1},     {2, 1},     {3, 1},     {4, 2},     {64, 62},
                {128, 126}, {129, 127}, {130, 128}, {1024, 128}};
  for (const auto& c : kCases) {
    const BlkOptions options = {.max_queue_size = c.queue_size};
    EXPECT_EQ(MakeBlkConfigSpace(options, {}, kSize).seg_max, c.seg_max) << c.queue_size;
  }
}

TEST(BlkConfigTest, FieldsAreWhereTheSpecificationPutsThem) {
  const BlkOptions options = {.block_size_bytes = 512, .num_queues = 5};
  const StoreTraits traits = {.physical_block_bytes = 4096, .optimal_io_bytes = 65536};
  const BlkConfig config(MakeBlkConfigSpace(options, traits, kSize), true);
  EXPECT_EQ(Read(config, 0, 8), kSize / 512);
  EXPECT_EQ(Read(config, 0, 4), kSize / 512);
  EXPECT_EQ(Read(config, 4, 4), 0u);
  EXPECT_EQ(Read(config, 8, 4), kBlkSizeMax);
  EXPECT_EQ(Read(config, 12, 4), kBlkSegMax);
  EXPECT_EQ(Read(config, 16, 4), 0u);
  EXPECT_EQ(Read(config, 20, 4), 512u);
  EXPECT_EQ(Read(config, 24, 1), 3u);
  EXPECT_EQ(Read(config, 25, 1), 0u);
  EXPECT_EQ(Read(config, 26, 2), 8u);
  EXPECT_EQ(Read(config, 28, 4), 128u);
  EXPECT_EQ(Read(config, 32, 1), 1u);
  EXPECT_EQ(Read(config, 34, 2), 5u);
  EXPECT_EQ(Read(config, 36, 4), kBlkMaxDiscardSectors);
  EXPECT_EQ(Read(config, 40, 4), kBlkMaxRanges);
  EXPECT_EQ(Read(config, 44, 4), 8u);
  EXPECT_EQ(Read(config, 48, 4), kBlkMaxWriteZeroesSectors);
  EXPECT_EQ(Read(config, 52, 4), kBlkMaxRanges);
  EXPECT_EQ(Read(config, 56, 1), 1u);
  EXPECT_EQ(Read(config, 71, 1), 0u);
}

TEST(BlkConfigTest, AccessesOutsideAreErrors) {
  BlkConfig config(MakeBlkConfigSpace({}, {}, kSize), true);
  ConfigValue value;
  EXPECT_EQ(config.Read(72, 1, &value), ConfigError::kOffset);
  EXPECT_EQ(config.Read(0xffff, 8, &value), ConfigError::kOffset);
  EXPECT_EQ(config.Read(71, 2, &value), ConfigError::kBytes);
  EXPECT_EQ(config.Read(65, 8, &value), ConfigError::kBytes);
  EXPECT_EQ(config.Read(0, 9, &value), ConfigError::kBytes);
  EXPECT_EQ(config.Write(72, 1, 0), ConfigError::kOffset);
  EXPECT_EQ(config.Write(71, 2, 0), ConfigError::kBytes);
  EXPECT_EQ(config.Write(0, 8, 0), ConfigError::kReadOnly);
  EXPECT_EQ(config.Write(32, 2, 0), ConfigError::kBytes);
}

TEST(BlkConfigTest, WritebackIsTheOnlyFieldThatDriversWrite) {
  BlkConfig config(MakeBlkConfigSpace({}, {}, kSize), true);
  EXPECT_TRUE(config.writeback());
  EXPECT_EQ(config.Write(32, 1, 0), ConfigError::kNone);
  EXPECT_FALSE(config.writeback());
  EXPECT_EQ(Read(config, 32, 1), 0u);
  BlkConfig fixed(MakeBlkConfigSpace({.write_cache = false}, {}, kSize), false);
  EXPECT_FALSE(fixed.writeback());
  EXPECT_EQ(fixed.Write(32, 1, 1), ConfigError::kReadOnly);
}

TEST(BlkConfigTest, GenerationGrowsWithTheCapacityOnly) {
  BlkConfig config(MakeBlkConfigSpace({}, {}, kSize), true);
  ConfigValue before, after;
  ASSERT_EQ(config.Read(0, 8, &before), ConfigError::kNone);
  config.SetCapacity(7);
  ASSERT_EQ(config.Read(0, 8, &after), ConfigError::kNone);
  EXPECT_EQ(after.value, 7u);
  EXPECT_EQ(after.generation, before.generation + 1);
}

}  // namespace
}  // namespace vof
