// SPDX-License-Identifier: Apache-2.0
//
// Queues of stores, without the device that checks ranges for them: what reaches behind the end is
// an error and changes nothing, whoever forgot to check, and however little is behind it.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/device/device_request.h"
#include "devices/blk/block_store.h"
#include "devices/blk/store_file.h"
#include "devices/blk/store_memory.h"
#include "devices/blk/store_null.h"
#include "devices/blk/testing/temp_file.h"

namespace vof {
namespace {

constexpr uint64_t kDiskBytes = 64u << 10;
constexpr uint64_t kLargerBytes = 128u << 10;
constexpr size_t kSector = 512;

struct Place {
  uint64_t offset_bytes, length_bytes;
};

// Behind the end of a disk of kDiskBytes, some of it or all.
const Place kOutside[] = {
    {kDiskBytes, kSector},
    {kDiskBytes - kSector, 2 * kSector},
    {0, kDiskBytes + kSector},
    {kDiskBytes + 1, 0},
    {kLargerBytes - kSector, kSector},
    {uint64_t{1} << 63, kSector},
    {UINT64_MAX - kSector + 1, kSector},  // the end wraps to 0
    {UINT64_MAX, kSector},
    {kSector, UINT64_MAX},  // the end wraps to kSector - 1
};

enum class StoreKind { kMemory, kNull, kCallsFile, kUringFile };

class StoreQueueTest : public testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    auto store = MakeStore();
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    auto queue = store_->OpenQueue();
    ASSERT_TRUE(queue.ok()) << queue.status();
    queue_ = *std::move(queue);
  }

  absl::StatusOr<std::shared_ptr<BlockStore>> MakeStore() {
    switch (GetParam()) {
      case StoreKind::kMemory:
        return MakeMemoryStore(
            {.size_bytes = kDiskBytes, .max_size_bytes = 1u << 20, .huge_pages = HugePages::kOff});
      case StoreKind::kNull:
        return MakeNullStore(kDiskBytes);
      case StoreKind::kCallsFile:
      case StoreKind::kUringFile:
        break;
    }
    const bool uring = GetParam() == StoreKind::kUringFile;
    return MakeFileStore({.path = image_.path(),
                          .io = uring ? FileIo::kUring : FileIo::kCalls,
                          .create_size_bytes = kDiskBytes});
  }

  bool keeps_data() const { return GetParam() != StoreKind::kNull; }

  StoreStatus Run(StoreOperation* operation) {
    StoreOperation* batch[] = {operation};
    queue_->Submit(batch);
    const bool finished =
        store_->traits().synchronous && operation->status != StoreStatus::kPending;
    std::array<StoreOperation*, 1> done = {finished ? operation : nullptr};
    while (done[0] == nullptr) queue_->Reap(done);
    EXPECT_EQ(done[0], operation);
    return operation->status;
  }

  // Reads into `data` what there is room for.
  StoreStatus Read(const Place& place, std::span<std::byte> data) {
    const std::array<MutableBuffer, 1> room = {MutableBuffer(data.data(), data.size())};
    DeviceRequest request;
    request.Reset(nullptr);
    StoreOperation operation;
    operation.verb = StoreVerb::kRead;
    operation.offset_bytes = place.offset_bytes;
    operation.length_bytes = place.length_bytes;
    operation.request = &request;
    operation.destination = BufferWriter(room);
    const StoreStatus status = Run(&operation);
    if (!store_->traits().lends) return status;
    EXPECT_EQ(request.result_bytes(), status == StoreStatus::kOk ? place.length_bytes : 0);
    size_t at = 0;
    for (const ConstBuffer& piece : request.result()) {
      std::memcpy(data.data() + at, piece.data, piece.size_bytes);
      at += piece.size_bytes;
    }
    return status;
  }
  StoreStatus Write(const Place& place, std::byte value) {
    // Real bytes for what is plausible: a store that forgets to check must not crash the test
    // first.
    const std::vector<std::byte> data(std::min<uint64_t>(place.length_bytes, kLargerBytes), value);
    const std::array<ConstBuffer, 1> pieces = {ConstBuffer(data.data(), data.size())};
    StoreOperation operation;
    operation.verb = StoreVerb::kWrite;
    operation.offset_bytes = place.offset_bytes;
    operation.length_bytes = place.length_bytes;
    operation.source = BufferReader(pieces);
    return Run(&operation);
  }
  StoreStatus Zero(StoreVerb verb, std::span<const StoreRange> ranges) {
    StoreOperation operation;
    operation.verb = verb;
    operation.ranges = ranges;
    return Run(&operation);
  }
  void ExpectEverywhere(std::byte value) {
    std::vector<std::byte> data(kDiskBytes, std::byte{0xee});
    ASSERT_EQ(Read({0, kDiskBytes}, data), StoreStatus::kOk);
    const std::byte expected = keeps_data() ? value : std::byte{0};
    for (const std::byte b : data) ASSERT_EQ(b, expected);
  }

  TempFile image_{"/dev/shm"};
  std::shared_ptr<BlockStore> store_;
  std::unique_ptr<StoreQueue> queue_;
};

TEST_P(StoreQueueTest, TransfersBehindTheEndAreErrorsWithoutEffect) {
  ASSERT_EQ(Write({0, kDiskBytes}, std::byte{1}), StoreStatus::kOk);
  for (const Place& place : kOutside) {
    SCOPED_TRACE(std::to_string(place.offset_bytes) + "+" + std::to_string(place.length_bytes));
    std::vector<std::byte> data(2 * kSector);
    EXPECT_EQ(Read(place, data), StoreStatus::kIoError);
    EXPECT_EQ(Write(place, std::byte{2}), StoreStatus::kIoError);
  }
  ExpectEverywhere(std::byte{1});
  EXPECT_EQ(store_->size_bytes(), kDiskBytes);
}

TEST_P(StoreQueueTest, TransfersUpToTheEndAreServed) {
  std::vector<std::byte> data(kSector);
  for (const uint64_t offset_bytes : {uint64_t{0}, kDiskBytes - kSector}) {
    EXPECT_EQ(Write({offset_bytes, kSector}, std::byte{3}), StoreStatus::kOk);
    EXPECT_EQ(Read({offset_bytes, kSector}, data), StoreStatus::kOk);
    EXPECT_EQ(data[kSector - 1], keeps_data() ? std::byte{3} : std::byte{0});
  }
  EXPECT_EQ(Write({kDiskBytes, 0}, std::byte{3}), StoreStatus::kOk);
}

TEST_P(StoreQueueTest, OneRangeBehindTheEndKeepsTheOthersFromHappening) {
  ASSERT_EQ(Write({0, kDiskBytes}, std::byte{1}), StoreStatus::kOk);
  for (const Place& place : kOutside) {
    const std::array<StoreRange, 2> ranges = {
        {{0, 4096, true}, {place.offset_bytes, place.length_bytes, true}}};
    EXPECT_EQ(Zero(StoreVerb::kDiscard, ranges), StoreStatus::kIoError);
    EXPECT_EQ(Zero(StoreVerb::kWriteZeroes, ranges), StoreStatus::kIoError);
  }
  ExpectEverywhere(std::byte{1});
}

TEST_P(StoreQueueTest, AQueueThatIsOpenSeesTheDiskShrinkAndGrow) {
  ASSERT_TRUE(store_->Resize(kLargerBytes).ok());
  EXPECT_EQ(Write({kDiskBytes, kSector}, std::byte{4}), StoreStatus::kOk);
  ASSERT_TRUE(store_->Resize(kDiskBytes).ok());
  EXPECT_EQ(Write({kDiskBytes, kSector}, std::byte{5}), StoreStatus::kIoError);
  ASSERT_TRUE(store_->Resize(kLargerBytes).ok());
  std::vector<std::byte> data(kSector, std::byte{0xee});
  EXPECT_EQ(Read({kDiskBytes, kSector}, data), StoreStatus::kOk);
  EXPECT_EQ(data, std::vector<std::byte>(kSector));
}

TEST_P(StoreQueueTest, AFlushHasNoPlace) {
  StoreOperation operation;
  operation.offset_bytes = operation.length_bytes = UINT64_MAX;
  EXPECT_EQ(Run(&operation), StoreStatus::kOk);
}

std::string StoreName(const testing::TestParamInfo<StoreKind>& info) {
  static constexpr std::array<const char*, 4> kNames = {"Memory", "Null", "TmpfsFile", "UringFile"};
  return kNames[static_cast<size_t>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Stores, StoreQueueTest,
                         testing::Values(StoreKind::kMemory, StoreKind::kNull,
                                         StoreKind::kCallsFile, StoreKind::kUringFile),
                         StoreName);

// The traits tell both ways to a file apart; io_uring is the usual one.
TEST(FileIoTest, TraitsSayWhichCallsServeAFile) {
  TempFile image;
  for (const FileIo io : {FileIo::kAuto, FileIo::kUring, FileIo::kCalls}) {
    auto store = MakeFileStore({.path = image.path(), .io = io, .create_size_bytes = kDiskBytes});
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_EQ((*store)->traits().synchronous, io == FileIo::kCalls);
  }
}

}  // namespace
}  // namespace vof
