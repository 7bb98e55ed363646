// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/transfer/transfer_job.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "tools/vof/transfer/fake_endpoint.h"

namespace vof {
namespace {

// Opened endpoints are owned by the job; the disk behind them stays with the test.
class Borrowed final : public Endpoint {
 public:
  explicit Borrowed(FakeEndpoint* disk) : disk_(disk) {}
  const std::string& name() const override { return disk_->name(); }
  uint64_t size_bytes() const override { return disk_->size_bytes(); }
  uint32_t block_bytes() const override { return disk_->block_bytes(); }
  uint32_t zero_run_bytes() const override { return disk_->zero_run_bytes(); }
  absl::StatusOr<Extent> ExtentAt(uint64_t offset) override { return disk_->ExtentAt(offset); }
  absl::Status Read(uint64_t offset, std::span<std::byte> buffer) override {
    return disk_->Read(offset, buffer);
  }
  absl::Status Write(uint64_t offset, std::span<const std::byte> data) override {
    return disk_->Write(offset, data);
  }
  absl::Status Zero(uint64_t offset, uint64_t size) override { return disk_->Zero(offset, size); }
  absl::Status Flush() override { return disk_->Flush(); }
  uint64_t store_epoch() const override { return disk_->store_epoch(); }

 private:
  FakeEndpoint* const disk_;
};

class TransferJobTest : public testing::Test {
 protected:
  TransferJobTest() : disk_(1 << 20, {.block_bytes = 512}) {}

  absl::Status Run(const TransferJob& job) {
    return RunTransferJob(
        job,
        {.open_device = [this](const std::string&,
                               OpenMode) -> absl::StatusOr<std::unique_ptr<Endpoint>> {
           return std::make_unique<Borrowed>(&disk_);
         },
         .on_open = nullptr,
         .tick = nullptr},
        &summary_);
  }
  std::string FileOf(size_t size_bytes, char fill = 'x') {
    const std::string path = testing::TempDir() + "/input";
    std::ofstream(path, std::ios::binary | std::ios::trunc) << std::string(size_bytes, fill);
    return path;
  }
  static std::string ContentOf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  const Location device_ = LocationOf("fake://disk");
  FakeEndpoint disk_;
  TransferSummary summary_;
};

TEST_F(TransferJobTest, OddFileIsRefusedBeforeAnythingIsWritten) {
  const absl::Status done = Run({.source = LocationOf(FileOf(1000)), .destination = device_});
  EXPECT_EQ(done.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(done.message().find("not a multiple of the block size"), absl::string_view::npos);
  EXPECT_NE(done.message().find("512"), absl::string_view::npos);
  EXPECT_EQ(disk_.written_bytes(), 0u);
}

TEST_F(TransferJobTest, PaddingZeroesTheRestOfTheBlockAndNoMore) {
  std::fill(disk_.bytes().begin(), disk_.bytes().end(), std::byte{0xee});
  ASSERT_EQ(Run({.source = LocationOf(FileOf(1000)),
                 .destination = device_,
                 .destination_offset_bytes = 512,
                 .pad_last_block = true}),
            absl::OkStatus());
  EXPECT_EQ(disk_.bytes()[511], std::byte{0xee});
  EXPECT_EQ(disk_.bytes()[512 + 999], std::byte{'x'});
  EXPECT_EQ(disk_.bytes()[512 + 1000], std::byte{0});
  EXPECT_EQ(disk_.bytes()[1535], std::byte{0});
  EXPECT_EQ(disk_.bytes()[1536], std::byte{0xee});
  EXPECT_EQ(disk_.num_flushes(), 1);
  EXPECT_EQ(summary_.counts.bytes, 1000u);
}

TEST_F(TransferJobTest, OneStoreByTwoAddressesIsRefusedBeforeAnythingIsWritten) {
  const TransferJob job{.source = LocationOf("fake://another/disk"), .destination = device_};
  EXPECT_EQ(Run(job), absl::OkStatus());  // of stores that tell nothing
  const uint64_t written_bytes = disk_.written_bytes() + disk_.zeroed_bytes();
  disk_.set_store_epoch(7);
  const absl::Status refused = Run(job);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(refused.message().find("are the same device: a copy needs two"),
            absl::string_view::npos)
      << refused;
  EXPECT_EQ(disk_.written_bytes() + disk_.zeroed_bytes(), written_bytes);
}

TEST_F(TransferJobTest, TooSmallNamesBothSizes) {
  const absl::Status done =
      Run({.source = LocationOf(FileOf((1 << 20) + 512)), .destination = device_});
  EXPECT_EQ(done.code(), absl::StatusCode::kOutOfRange);
  EXPECT_NE(done.message().find("1048576"), absl::string_view::npos) << done;
  EXPECT_NE(done.message().find("1049088"), absl::string_view::npos) << done;
  EXPECT_EQ(disk_.written_bytes(), 0u);
}

TEST_F(TransferJobTest, OffsetsAreChecked) {
  const std::string file = FileOf(512);
  EXPECT_EQ(Run({.source = LocationOf(file), .destination = device_, .destination_offset_bytes = 7})
                .code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      Run({.source = LocationOf(file), .destination = device_, .destination_offset_bytes = 2 << 20})
          .code(),
      absl::StatusCode::kOutOfRange);
  EXPECT_EQ(Run({.source = device_,
                 .destination = LocationOf(testing::TempDir() + "/never"),
                 .source_offset_bytes = (1 << 20) + 1})
                .code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Run({.source = device_,
                 .destination = LocationOf(testing::TempDir() + "/never"),
                 .size_bytes = (1 << 20) + 1})
                .code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(testing::TempDir() + "/never"));
}

TEST_F(TransferJobTest, ReadsAnyRangeIntoAFile) {
  for (size_t i = 0; i < disk_.bytes().size(); ++i) {
    disk_.bytes()[i] = static_cast<std::byte>(i % 251);
  }
  const std::string path = testing::TempDir() + "/part";
  ASSERT_EQ(Run({.source = device_,
                 .destination = LocationOf(path),
                 .source_offset_bytes = 777,
                 .size_bytes = 100'001}),
            absl::OkStatus());
  const std::string content = ContentOf(path);
  ASSERT_EQ(content.size(), 100'001u);
  for (size_t i = 0; i < content.size(); i += 997) {
    EXPECT_EQ(static_cast<uint8_t>(content[i]), (i + 777) % 251);
  }
}

TEST_F(TransferJobTest, NothingIsAnEmptyFile) {
  const std::string path = testing::TempDir() + "/empty";
  ASSERT_EQ(
      Run({.source = device_, .destination = LocationOf(path), .source_offset_bytes = 1 << 20}),
      absl::OkStatus());
  EXPECT_EQ(std::filesystem::file_size(path), 0u);
}

TEST_F(TransferJobTest, OneSideMustBeADevice) {
  const absl::Status done =
      Run({.source = LocationOf(FileOf(512)), .destination = LocationOf("/tmp/x")});
  EXPECT_EQ(done.code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(TransferJobTest, FailureSaysHowFarItCame) {
  disk_.FailAt(0);
  const absl::Status done = Run({.source = LocationOf(FileOf(512)), .destination = device_});
  EXPECT_EQ(done.message(),
            "fake write error (nothing is known to be written; fake://disk is "
            "incomplete)");
}

}  // namespace
}  // namespace vof
