// SPDX-License-Identifier: Apache-2.0
#include "backends/ofi/memory_name.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "backends/common/file_descriptor.h"

namespace vof {
namespace {

std::vector<std::byte> BytesOf(std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

// A file as a provider makes it, and what a peer is told of it.
class MemoryNameTest : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::string> file = NewMemoryFile();
    ASSERT_TRUE(file.ok()) << file.status();
    file_ = *file;
    const FileDescriptor made(open(path().c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600));
    ASSERT_TRUE(made) << path();
    ASSERT_EQ(ftruncate(made.get(), kMemoryBytes), 0);
    absl::StatusOr<std::vector<std::byte>> name = SealMemory(file_);
    ASSERT_TRUE(name.ok()) << name.status();
    name_ = *name;
  }
  void TearDown() override { unlink(path().c_str()); }

  static constexpr off_t kMemoryBytes = 8192;
  std::string path() const { return MemoryPath(file_); }
  static bool Fits(const std::vector<std::byte>& name) {
    const absl::Status status = CheckMemoryName(name, geteuid());
    EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
    return status.ok();
  }

  std::string file_;
  std::vector<std::byte> name_;
};

TEST_F(MemoryNameTest, OwnerIsBelieved) { EXPECT_TRUE(Fits(name_)); }

TEST_F(MemoryNameTest, BeginsAsTheProviderCallsIt) {
  const std::string text(reinterpret_cast<const char*>(name_.data()));
  EXPECT_EQ(text, ProviderName(file_));
  EXPECT_EQ(name_.size(), text.size() + 1 + kMemoryProofBytes);
}

TEST_F(MemoryNameTest, MemoryOfTheProviderStaysAsItIs) {
  struct stat found = {};
  ASSERT_EQ(stat(path().c_str(), &found), 0);
  EXPECT_EQ(found.st_size, kMemoryBytes + static_cast<off_t>(kMemoryProofBytes));
}

TEST_F(MemoryNameTest, WhoReadNoProofIsNotBelieved) {
  for (size_t i = name_.size() - kMemoryProofBytes; i < name_.size(); ++i) {
    std::vector<std::byte> other = name_;
    other[i] ^= std::byte{1};
    EXPECT_FALSE(Fits(other)) << i;
  }
  std::vector<std::byte> zero = name_;
  std::fill(zero.end() - kMemoryProofBytes, zero.end(), std::byte{});
  EXPECT_FALSE(Fits(zero));
}

// Its end is known: zeros.
TEST_F(MemoryNameTest, FileThatNobodySealedIsNobodysToName) {
  ASSERT_EQ(truncate(path().c_str(), 0), 0);
  ASSERT_EQ(truncate(path().c_str(), kMemoryBytes), 0);
  std::vector<std::byte> zero = name_;
  std::fill(zero.end() - kMemoryProofBytes, zero.end(), std::byte{});
  EXPECT_FALSE(Fits(zero));
  EXPECT_FALSE(Fits(name_));
}

TEST_F(MemoryNameTest, EachSealIsAnother) {
  ASSERT_TRUE(SealMemory(file_).ok());
  EXPECT_FALSE(Fits(name_));
}

TEST_F(MemoryNameTest, EveryPieceOfANameIsTooLittle) {
  for (size_t size = 0; size < name_.size(); ++size) {
    EXPECT_FALSE(Fits({name_.begin(), name_.begin() + static_cast<ptrdiff_t>(size)})) << size;
  }
  name_.push_back({});
  EXPECT_FALSE(Fits(name_));
}

TEST_F(MemoryNameTest, FileOfAnotherUserIsRefused) {
  const absl::Status status = CheckMemoryName(name_, geteuid() + 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(status.message()).find("processes of one user"), std::string::npos);
}

TEST_F(MemoryNameTest, FileThatIsGoneIsRefused) {
  unlink(path().c_str());
  EXPECT_FALSE(Fits(name_));
  EXPECT_EQ(SealMemory(file_).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(MemoryNameTest, LinkIsNotFollowed) {
  const std::string elsewhere = path() + ":1";
  ASSERT_EQ(rename(path().c_str(), elsewhere.c_str()), 0);
  ASSERT_EQ(symlink(elsewhere.c_str(), path().c_str()), 0);
  EXPECT_FALSE(Fits(name_));
  unlink(elsewhere.c_str());
}

TEST_F(MemoryNameTest, WhatIsNoFileIsRefused) {
  unlink(path().c_str());
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  EXPECT_FALSE(Fits(name_)) << "and does not wait for a writer";
}

TEST_F(MemoryNameTest, FileShorterThanAProofIsRefused) {
  ASSERT_EQ(truncate(path().c_str(), kMemoryProofBytes - 1), 0);
  EXPECT_FALSE(Fits(name_));
}

TEST(MemoryNameTextTest, OnlyNumbersNameAFile) {
  const std::string proof(kMemoryProofBytes, 'p');
  for (const char* text : {"fi_shm://../../etc/passwd", "fi_shm://", "fi_shm://:", "/dev/mem",
                           "fi_ns://1:2:3", "fi_shm://1:0:0", "fi_shm", ""}) {
    const std::string name = std::string(text) + '\0' + proof;
    EXPECT_TRUE(absl::IsInvalidArgument(CheckMemoryName(BytesOf(name), geteuid()))) << text;
    EXPECT_FALSE(CheckMemoryName(BytesOf(text), geteuid()).ok()) << text;
  }
}

}  // namespace
}  // namespace vof
