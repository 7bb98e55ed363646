// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/client/blk_info.h"

#include <cstddef>
#include <map>

#include "core/base/limits.h"
#include "core/engine/initiator_status.h"
#include "devices/blk/client/blk_io.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

constexpr uint16_t kCapacity = offsetof(BlkConfigSpace, capacity);
constexpr uint16_t kSizeMax = offsetof(BlkConfigSpace, size_max);
constexpr uint16_t kSegMax = offsetof(BlkConfigSpace, seg_max);
constexpr uint16_t kBlockSize = offsetof(BlkConfigSpace, blk_size);

// What MakeBlkInfo says of a device with these features and fields (the rest is zero).
absl::StatusOr<BlkInfo> InfoOf(SessionInfo session, std::map<uint16_t, uint64_t> values) {
  ConfigSnapshot snapshot;
  for (const ConfigField& field : BlkInfoFields(session.features)) {
    snapshot.values.push_back(values[field.offset]);
  }
  return MakeBlkInfo(session, snapshot);
}

SessionInfo Session(uint64_t features, Dialect dialect = Dialect::kV5) {
  SessionInfo session;
  session.features = features;
  session.dialect = dialect;
  return session;
}

TEST(BlkInfo, ReadsOnlyFieldsWhoseFeatureWasAccepted) {
  EXPECT_EQ(BlkInfoFields(0).size(), 1u);
  EXPECT_EQ(BlkInfoFields(kBlkFeatureSizeMax | kBlkFeatureSegMax).size(), 3u);
  EXPECT_EQ(BlkInfoFields(kBlkClientFeatures).size(), 16u);
}

TEST(BlkInfo, AMinimalDevice) {
  const auto info = InfoOf(Session(0), {{kCapacity, 100}});
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->capacity_bytes, 51200u);
  EXPECT_EQ(info->block_bytes, 512u);
  EXPECT_FALSE(info->can_flush || info->write_cache || info->can_discard || info->read_only);
  EXPECT_EQ(info->max_transfer_bytes, kMaxDataBytes);
}

TEST(BlkInfo, TheCapacityIsWholeBlocks) {
  struct Case {
    uint64_t sectors, block_bytes, capacity_bytes;
  };
  for (const Case& c : {Case{1, 4096, 0}, Case{7, 4096, 0}, Case{8, 4096, 4096},
                        Case{15, 4096, 4096}, Case{17, 4096, 8192}, Case{17, 512, 17 * 512},
                        Case{(1ull << 54) - 1, 1 << 20, (1ull << 63) - (1 << 20)}}) {
    const auto info = InfoOf(Session(kBlkFeatureBlockSize),
                             {{kCapacity, c.sectors}, {kBlockSize, c.block_bytes}});
    ASSERT_TRUE(info.ok()) << info.status();
    EXPECT_EQ(info->capacity_bytes, c.capacity_bytes) << c.sectors;
    EXPECT_EQ(info->capacity_bytes + info->unusable_tail_bytes, c.sectors * 512) << c.sectors;
  }
}

TEST(BlkInfo, TheWriteCacheFollowsItsFieldOrElseTheFlushFeature) {
  EXPECT_TRUE(InfoOf(Session(kBlkFeatureFlush), {})->write_cache);
  EXPECT_FALSE(InfoOf(Session(kBlkFeatureFlush), {})->write_cache_known);
  EXPECT_TRUE(InfoOf(Session(0), {})->write_cache_known);
  const uint64_t both = kBlkFeatureFlush | kBlkFeatureConfigWce;
  EXPECT_FALSE(InfoOf(Session(both), {})->write_cache);
  EXPECT_TRUE(InfoOf(Session(both), {})->write_cache_known);
  EXPECT_TRUE(InfoOf(Session(both), {{offsetof(BlkConfigSpace, writeback), 1}})->write_cache);
}

TEST(BlkInfo, TransfersStayWithinEveryLimit) {
  const uint64_t features = kBlkFeatureSizeMax | kBlkFeatureSegMax | kBlkFeatureBlockSize;
  const std::map<uint16_t, uint64_t> values = {
      {kSizeMax, 32768}, {kSegMax, 126}, {kBlockSize, 4096}};
  EXPECT_EQ(InfoOf(Session(features), values)->max_transfer_bytes, 126u * 32768);
  EXPECT_EQ(InfoOf(Session(features, Dialect::kRef), values)->max_transfer_bytes,
            kBlkIoPieces * 32768);
  SessionInfo session = Session(features);
  session.max_out_bytes = 16 + 10'000;
  EXPECT_EQ(InfoOf(session, values)->max_transfer_bytes, 8192u);
  session.max_in_bytes = 4097;
  EXPECT_EQ(InfoOf(session, values)->max_transfer_bytes, 4096u);
  session.max_in_bytes = 4096;
  EXPECT_EQ(FailureKindOf(InfoOf(session, values).status()), FailureKind::kUnsupported);
  session.max_out_bytes = 0;
  EXPECT_EQ(FailureKindOf(InfoOf(session, values).status()), FailureKind::kUnsupported);
}

TEST(BlkInfo, ImpossibleConfigurationsAreRefused) {
  for (const uint64_t size : {0ull, 1ull, 511ull, 513ull, 1ull << 21, 0xffffffffull}) {
    const auto info = InfoOf(Session(kBlkFeatureBlockSize), {{kBlockSize, size}});
    EXPECT_EQ(FailureKindOf(info.status()), FailureKind::kProtocol) << size;
  }
  EXPECT_FALSE(InfoOf(Session(0), {{kCapacity, ~uint64_t{0}}}).ok());
  EXPECT_FALSE(InfoOf(Session(0), {{kCapacity, 1ull << 55}}).ok());
  EXPECT_FALSE(
      InfoOf(Session(kBlkFeatureTopology), {{offsetof(BlkConfigSpace, physical_block_exp), 255}})
          .ok());
}

}  // namespace
}  // namespace vof
