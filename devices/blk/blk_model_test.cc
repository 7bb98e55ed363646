// SPDX-License-Identifier: Apache-2.0
//
// Random batches of requests against a vector of bytes, over every store, cut in every way.
//
// VOF_TEST_BLOCK_DEVICE names a block device of 2 MiB that may be overwritten, for example from
//   truncate -s 2M image && losetup -f --show --sector-size 4096 image
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "devices/blk/blk_device.h"
#include "devices/blk/store_file.h"
#include "devices/blk/store_memory.h"
#include "devices/blk/testing/driver_double.h"
#include "devices/blk/testing/fake_store.h"
#include "devices/blk/testing/temp_file.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

constexpr uint64_t kDiskBytes = 2u << 20;
constexpr uint64_t kDiskSectors = kDiskBytes / kSectorBytes;

struct Case {
  std::string name;
  std::function<absl::StatusOr<std::shared_ptr<BlockStore>>(const std::string& path)> make;
  std::string directory;
  uint32_t block_size_bytes = 512;
};

absl::StatusOr<std::shared_ptr<BlockStore>> MakeFile(const std::string& path, bool direct) {
  return MakeFileStore({.path = path, .direct = direct, .create_size_bytes = kDiskBytes});
}

absl::StatusOr<std::shared_ptr<BlockStore>> OpenBlockDevice(bool direct) {
  const char* path = std::getenv("VOF_TEST_BLOCK_DEVICE");
  if (path == nullptr) return absl::NotFoundError("VOF_TEST_BLOCK_DEVICE is not set");
  return MakeFileStore({.path = path, .direct = direct});
}

std::vector<Case> Cases() {
  const std::string disk = TempFile::DefaultDirectory();
  return {
      {"Memory", [](const std::string&) { return MakeMemoryStore({.size_bytes = kDiskBytes}); },
       disk},
      {"Fake",
       [](const std::string&) -> absl::StatusOr<std::shared_ptr<BlockStore>> {
         return std::make_shared<FakeStore>(FakeStore::Options{.size_bytes = kDiskBytes});
       },
       disk},
      {"Tmpfs", [](const std::string& p) { return MakeFile(p, false); }, "/dev/shm"},
      {"Disk", [](const std::string& p) { return MakeFile(p, false); }, disk},
      {"DiskDirect", [](const std::string& p) { return MakeFile(p, true); }, disk, 4096},
      {"BlockDevice", [](const std::string&) { return OpenBlockDevice(false); }, disk, 4096},
      {"BlockDeviceDirect", [](const std::string&) { return OpenBlockDevice(true); }, disk, 4096},
  };
}

class BlkModelTest : public ::testing::TestWithParam<std::tuple<size_t, BlkCuts>> {
 protected:
  // Null when this machine cannot do it: the test is skipped then, and says so.
  bool Open() {
    const Case c = Cases()[std::get<0>(GetParam())];
    image_ = std::make_unique<TempFile>(c.directory);
    auto store = image_->path().empty() ? absl::NotFoundError(c.directory + " cannot be written")
                                        : c.make(image_->path());
    if (!store.ok()) {
      skip_reason_ = store.status().ToString();
      return false;
    }
    auto device = MakeBlkDevice({.block_size_bytes = c.block_size_bytes}, *store);
    EXPECT_TRUE(device.ok()) << device.status();
    device_ = *device;
    queue_ = *device_->OpenQueue(0);
    queue_->Activate(device_->features());
    // A block device ignores a discard of parts of its blocks.
    unit_sectors_ = c.block_size_bytes / kSectorBytes;
    model_.resize(kDiskBytes);
    BlkDriverDouble driver(queue_.get());
    const TestSegment all = {0, kDiskSectors};  // a block device is not new
    EXPECT_EQ(driver.Run(BlkSegmentsRequest(kBlkTypeWriteZeroes, {all}), 1).status(), kBlkStatusOk);
    return true;
  }

  uint64_t Random(uint64_t below) { return random_() % below; }

  // A random request on sectors [first, first + count), and its effect on the model.
  struct Planned {
    Bytes readable;
    uint32_t writable_bytes = 1;
    Bytes expected;  // of a read
  };
  Planned Plan(uint64_t first, uint64_t count) {
    Planned plan;
    const auto at = model_.begin() + static_cast<ptrdiff_t>(first * kSectorBytes);
    const uint64_t bytes = count * kSectorBytes;
    switch (Random(5)) {
      case 0:
      case 1: {
        const Bytes data = PatternBytes(bytes, random_());
        std::copy(data.begin(), data.end(), at);
        plan.readable = BlkWriteRequest(first, data);
        break;
      }
      case 2: {
        std::fill_n(at, bytes, std::byte{0});
        const uint64_t half = count / 2 / unit_sectors_ * unit_sectors_;
        const std::vector<TestSegment> segments = {
            {first, static_cast<uint32_t>(half), static_cast<uint32_t>(Random(2))},
            {first + half, static_cast<uint32_t>(count - half), static_cast<uint32_t>(Random(2))}};
        plan.readable = BlkSegmentsRequest(kBlkTypeWriteZeroes, segments);
        break;
      }
      case 3:
        std::fill_n(at, bytes, std::byte{0});  // true of every store here
        plan.readable =
            BlkSegmentsRequest(kBlkTypeDiscard, {{first, static_cast<uint32_t>(count), 0}});
        break;
      default:
        plan.readable = BlkReadRequest(first);
        plan.writable_bytes = static_cast<uint32_t>(bytes + 1);
        plan.expected.assign(at, at + static_cast<ptrdiff_t>(bytes));
        break;
    }
    return plan;
  }

  void RunBatch(BlkDriverDouble* driver) {
    std::vector<std::pair<Bytes, uint32_t>> batch;
    std::vector<Bytes> expected;
    // Disjoint pieces of the disk: what requests in flight together do to each other is not
    // defined.
    const uint64_t pieces = 1 + Random(40);
    const uint64_t piece_sectors = kDiskSectors / pieces / unit_sectors_ * unit_sectors_;
    for (uint64_t i = 0; i < pieces; ++i) {
      const uint64_t skip = Random(piece_sectors / unit_sectors_) * unit_sectors_;
      const uint64_t most = std::min<uint64_t>(piece_sectors - skip, 600) / unit_sectors_;
      const uint64_t count = (1 + Random(most)) * unit_sectors_;
      Planned plan = Plan(i * piece_sectors + skip, count);
      batch.emplace_back(std::move(plan.readable), plan.writable_bytes);
      expected.push_back(std::move(plan.expected));
    }
    const std::vector<int> ids = driver->Start(batch);
    for (size_t i = 0; i < ids.size(); ++i) {
      const BlkAnswer answer = driver->Wait(ids[i]);
      ASSERT_EQ(answer.status(), kBlkStatusOk);
      ASSERT_EQ(answer.bytes.size(), batch[i].second);
      ASSERT_TRUE(std::equal(expected[i].begin(), expected[i].end(), answer.data().begin()));
    }
  }

  std::mt19937_64 random_{20231};
  std::unique_ptr<TempFile> image_;
  std::shared_ptr<BlkDevice> device_;
  std::unique_ptr<DeviceQueue> queue_;
  uint64_t unit_sectors_ = 1;
  Bytes model_;
  std::string skip_reason_;
};

TEST_P(BlkModelTest, ContentsFollowTheModel) {
  if (!Open()) GTEST_SKIP() << skip_reason_;
  BlkDriverDouble driver(queue_.get(), std::get<1>(GetParam()));
  for (int round = 0; round < 60; ++round) {
    RunBatch(&driver);
    if (HasFatalFailure()) return;
    if (round % 10 == 0) {
      EXPECT_EQ(driver.Run(BlkRequestBytes(kBlkTypeFlush, 0), 1).status(), kBlkStatusOk);
    }
  }
  const BlkAnswer all = driver.Run(BlkReadRequest(0), kDiskBytes + 1);
  ASSERT_EQ(all.status(), kBlkStatusOk);
  EXPECT_TRUE(std::equal(model_.begin(), model_.end(), all.data().begin(), all.data().end()));
}

TEST_P(BlkModelTest, DurableWritesFollowTheModelToo) {
  if (!Open()) GTEST_SKIP() << skip_reason_;
  ASSERT_EQ(device_->WriteConfig(32, 1, 0), ConfigError::kNone);
  BlkDriverDouble driver(queue_.get(), std::get<1>(GetParam()));
  for (int round = 0; round < 5; ++round) {
    RunBatch(&driver);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, BlkModelTest,
                         ::testing::Combine(::testing::Range<size_t>(0, 7),
                                            ::testing::Values(BlkCuts::kAligned, BlkCuts::kRandom)),
                         [](const auto& info) {
                           return Cases()[std::get<0>(info.param)].name +
                                  (std::get<1>(info.param) == BlkCuts::kAligned ? "Aligned"
                                                                                : "Cut");
                         });

}  // namespace
}  // namespace vof
