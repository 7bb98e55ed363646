// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/transfer/file_endpoint.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tools/vof/transfer/unique_fd.h"

namespace vof {
namespace {

std::string TestPath(const std::string& name) { return testing::TempDir() + "/" + name; }

void WriteFile(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

TEST(FileEndpointTest, CreateTruncatesAndSizes) {
  const std::string path = TestPath("created");
  WriteFile(path, std::string(10'000, 'x'));
  auto file = FileEndpoint::Create(path, 5001);
  ASSERT_EQ(file.status(), absl::OkStatus());
  EXPECT_EQ((*file)->size_bytes(), 5001u);
  EXPECT_EQ(std::filesystem::file_size(path), 0u);
  const std::vector<std::byte> data(100, std::byte{'a'});
  ASSERT_EQ((*file)->Write(4901, data), absl::OkStatus());
  ASSERT_EQ((*file)->Zero(0, 4901), absl::OkStatus());
  ASSERT_EQ((*file)->Flush(), absl::OkStatus());

  auto again = FileEndpoint::OpenForReading(path);
  ASSERT_EQ(again.status(), absl::OkStatus());
  std::vector<std::byte> back(5001);
  ASSERT_EQ((*again)->Read(0, back), absl::OkStatus());
  EXPECT_EQ(back[4900], std::byte{0});
  EXPECT_EQ(back[4901], std::byte{'a'});
}

TEST(FileEndpointTest, CreatedFileHasItsSizeWhenItIsComplete) {
  const std::string path = TestPath("grows");
  std::filesystem::remove(path);
  auto file = FileEndpoint::Create(path, 10'000);
  ASSERT_EQ(file.status(), absl::OkStatus());
  const std::vector<std::byte> data(1000, std::byte{'a'});
  ASSERT_EQ((*file)->Write(0, data), absl::OkStatus());
  ASSERT_EQ((*file)->Write(4000, data), absl::OkStatus());
  EXPECT_EQ(std::filesystem::file_size(path), 5000u);
  EXPECT_TRUE((*file)->CutTo(1000));
  EXPECT_EQ(std::filesystem::file_size(path), 1000u);
  ASSERT_EQ((*file)->Flush(), absl::OkStatus());
  EXPECT_EQ(std::filesystem::file_size(path), 10'000u);

  auto source = FileEndpoint::OpenForReading(path);
  EXPECT_FALSE((*source)->CutTo(0));  // not its own
}

TEST(FileEndpointTest, ASizeThatCannotBeChangesNothing) {
  const std::string path = TestPath("too-large");
  std::filesystem::remove(path);
  const uint64_t size_bytes = uint64_t{1} << 62;  // beyond what file systems can
  EXPECT_FALSE(FileEndpoint::Create(path, size_bytes).ok());
  EXPECT_FALSE(std::filesystem::exists(path));
  WriteFile(path, "kept");
  EXPECT_FALSE(FileEndpoint::Create(path, size_bytes).ok());
  EXPECT_EQ(std::filesystem::file_size(path), 4u);
}

TEST(FileEndpointTest, ExtentsFollowHoles) {
  const std::string path = TestPath("sparse");
  {
    auto file = FileEndpoint::Create(path, 4 << 20);
    ASSERT_EQ(file.status(), absl::OkStatus());
    const std::vector<std::byte> data(65536, std::byte{'a'});
    ASSERT_EQ((*file)->Write(1 << 20, data), absl::OkStatus());
  }
  auto file = FileEndpoint::OpenForReading(path);
  ASSERT_EQ(file.status(), absl::OkStatus());
  uint64_t data_bytes = 0;
  for (uint64_t at = 0; at < (*file)->size_bytes();) {
    const absl::StatusOr<Extent> extent = (*file)->ExtentAt(at);
    ASSERT_EQ(extent.status(), absl::OkStatus());
    ASSERT_GT(extent->end_bytes, at);
    if (!extent->is_hole) data_bytes += extent->end_bytes - at;
    at = extent->end_bytes;
  }
  // A file system without holes calls all of it data.
  EXPECT_TRUE(data_bytes == 65536 || data_bytes == 4 << 20) << data_bytes;
}

TEST(FileEndpointTest, ErrorsNameThePath) {
  const auto missing = FileEndpoint::OpenForReading("/nonexistent/x");
  EXPECT_EQ(missing.status().message(), "cannot open /nonexistent/x: No such file or directory");
  const auto directory = FileEndpoint::Create("/nonexistent/x", 1);
  EXPECT_EQ(directory.status().message(),
            "cannot create /nonexistent/x: No such file or directory");
  const auto odd = FileEndpoint::OpenForReading("/dev/null");
  EXPECT_EQ(odd.status().message(), "/dev/null is neither a regular file nor a block device");
}

TEST(FileEndpointTest, FileThatDoesNotTellItsSizeIsAnError) {
  const auto file = FileEndpoint::OpenForReading("/proc/self/status");
  EXPECT_EQ(std::string(file.status().message()).find("/proc/self/status does not tell its size"),
            0u)
      << file.status();
}

TEST(FileEndpointTest, FileThatShrinksIsAnError) {
  const std::string path = TestPath("shrinks");
  WriteFile(path, std::string(8192, 'x'));
  auto file = FileEndpoint::OpenForReading(path);
  ASSERT_EQ(file.status(), absl::OkStatus());
  ASSERT_EQ(truncate(path.c_str(), 100), 0);
  std::vector<std::byte> buffer(8192);
  const absl::Status read = (*file)->Read(0, buffer);
  EXPECT_NE(std::string(read.message()).find("ended at offset 100"), std::string::npos) << read;
}

TEST(FileEndpointTest, FileInUseStaysAsItIs) {
  const std::string path = TestPath("in_use");
  WriteFile(path, std::string(10'000, 'x'));
  for (const int lock : {LOCK_EX, LOCK_SH}) {  // of a target that writes, and of one that reads
    const UniqueFd target(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(flock(target.get(), lock), 0);
    const auto refused = FileEndpoint::Create(path, 1);
    EXPECT_NE(refused.status().message().find("in use by a target"), std::string::npos)
        << refused.status();
    EXPECT_EQ(std::filesystem::file_size(path), 10'000u);
  }
  EXPECT_EQ(FileEndpoint::Create(path, 1).status(), absl::OkStatus());
}

TEST(FileEndpointTest, FileThatOthersWriteIsNoSource) {
  const std::string path = TestPath("served");
  WriteFile(path, std::string(10'000, 'x'));
  const UniqueFd target(open(path.c_str(), O_RDWR | O_CLOEXEC));
  const UniqueFd input(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(flock(target.get(), LOCK_EX), 0);
  for (const absl::Status& refused : {FileEndpoint::OpenUnchanging(path).status(),
                                      HoldUnchanging(input.get(), "standard input").status()}) {
    EXPECT_NE(refused.message().find("may change while it is read"), std::string::npos) << refused;
  }
  EXPECT_EQ(FileEndpoint::OpenForReading(path).status(), absl::OkStatus());
  ASSERT_EQ(flock(target.get(), LOCK_SH), 0);
  EXPECT_EQ(HoldUnchanging(input.get(), "standard input").status(), absl::OkStatus());
  const auto source = FileEndpoint::OpenUnchanging(path);
  ASSERT_EQ(source.status(), absl::OkStatus());
  EXPECT_NE(flock(target.get(), LOCK_EX | LOCK_NB), 0);  // while it is read
}

TEST(FileEndpointTest, FileThatIsWrittenIsLocked) {
  const std::string path = TestPath("written");
  const UniqueFd target(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  {
    const auto file = FileEndpoint::Create(path, 1);
    ASSERT_EQ(file.status(), absl::OkStatus());
    EXPECT_NE(flock(target.get(), LOCK_EX | LOCK_NB), 0);
  }
  EXPECT_EQ(flock(target.get(), LOCK_EX | LOCK_NB), 0);
}

TEST(FileEndpointTest, SameFileIsSeenThroughLinks) {
  const std::string path = TestPath("original"), link = TestPath("link");
  WriteFile(path, "x");
  std::filesystem::remove(link);
  std::filesystem::create_symlink(path, link);
  EXPECT_TRUE(IsSameFile(path, link));
  EXPECT_FALSE(IsSameFile(path, "/nonexistent"));
}

}  // namespace
}  // namespace vof
