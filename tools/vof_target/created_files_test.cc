// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/created_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class CreatedFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = testing::TempDir() + "/created_files_XXXXXX";
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
  }
  void TearDown() override {
    for (const char* name : {"a", "b"}) unlink(Path(name).c_str());
    rmdir(directory_.c_str());
  }
  std::string Path(const char* name) const { return directory_ + "/" + name; }
  std::string Create(const char* name, const char* data = "") {
    const int fd = open(Path(name).c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    EXPECT_GE(fd, 0);
    EXPECT_EQ(ftruncate(fd, 1 << 20), 0);
    EXPECT_EQ(pwrite(fd, data, strlen(data), 0), static_cast<ssize_t>(strlen(data)));
    EXPECT_EQ(fsync(fd), 0);
    close(fd);
    return Path(name);
  }
  bool Exists(const char* name) const { return access(Path(name).c_str(), F_OK) == 0; }

  std::string directory_;
};

TEST_F(CreatedFilesTest, RemovesWhatWasAddedAndNothingElse) {
  CreatedFiles created;
  Create("b");
  created.Add(Create("a"));
  EXPECT_THAT(created.RemoveUnused(), ElementsAre(Path("a")));
  EXPECT_FALSE(Exists("a"));
  EXPECT_TRUE(Exists("b"));
  EXPECT_THAT(created.RemoveUnused(), IsEmpty());
}

TEST_F(CreatedFilesTest, KeepsData) {
  CreatedFiles created;
  const std::string path = Create("a");
  created.Add(path);
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  EXPECT_EQ(pwrite(fd, "data", 4, 0), 4);
  EXPECT_EQ(fsync(fd), 0);
  close(fd);
  EXPECT_THAT(created.RemoveUnused(), IsEmpty());
  EXPECT_TRUE(Exists("a"));
}

TEST_F(CreatedFilesTest, KeepsAFileThatTookThePlace) {
  CreatedFiles created;
  created.Add(Create("a"));
  const std::string other = Create("b");
  ASSERT_EQ(rename(other.c_str(), Path("a").c_str()), 0);
  EXPECT_THAT(created.RemoveUnused(), IsEmpty());
  EXPECT_TRUE(Exists("a"));
}

}  // namespace
}  // namespace vof
