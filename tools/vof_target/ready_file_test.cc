// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/ready_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

using ::testing::HasSubstr;

constexpr char kUri[] = "tcp://127.0.0.1:1/mem0\n";

class ReadyFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "/ready_file_XXXXXX";
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    path_ = directory_ + "/ready";
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  static std::string Content(const std::string& path) {
    std::ostringstream content;
    content << std::ifstream(path).rdbuf();
    return content.str();
  }
  void Make(const std::string& content) const { std::ofstream(path_) << content; }
  int NumFiles() const {
    return static_cast<int>(std::distance(std::filesystem::directory_iterator(directory_), {}));
  }
  // Neither a look nor a start touches what is there.
  void ExpectRefused(const std::string& why) const {
    ReadyFile file(path_);
    for (const absl::Status& status : {file.Check(), file.RemoveStale(), file.Prepare(kUri)}) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr(path_));
      EXPECT_THAT(std::string(status.message()), HasSubstr(why));
      EXPECT_THAT(std::string(status.message()), HasSubstr("choose another name"));
    }
  }

  std::string directory_, path_;
};

TEST(LooksLikeReadyFileTest, LinesOfUris) {
  for (const char* content : {"", kUri, "tcp://a/b\nofi://c/d\n", "tcp://a/b", "x+y-z.1://"}) {
    EXPECT_TRUE(LooksLikeReadyFile(content)) << content;
  }
  for (const char* content : {"\n", "a", "://a\n", "tcp:/a\n", "tcp://a\n\n", "tcp://a\nb\n",
                              "listener { uri: \"tcp://a\" }\n", "# tcp://a\n", " tcp://a\n"}) {
    EXPECT_FALSE(LooksLikeReadyFile(content)) << content;
  }
}

TEST_F(ReadyFileTest, AppearsCompleteAndGoes) {
  umask(022);
  ReadyFile file(path_);
  ASSERT_TRUE(file.Check().ok());
  ASSERT_TRUE(file.Prepare(kUri).ok());
  EXPECT_FALSE(std::filesystem::exists(path_));
  ASSERT_TRUE(file.Publish().ok());
  EXPECT_EQ(Content(path_), kUri);
  EXPECT_EQ(NumFiles(), 1);
  struct stat there = {};
  ASSERT_EQ(stat(path_.c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 0777, 0644u);
  EXPECT_TRUE(file.Remove().ok());
  EXPECT_EQ(NumFiles(), 0);
  EXPECT_TRUE(file.Remove().ok());
}

TEST_F(ReadyFileTest, LeavesNothingWhenItIsNotPublished) {
  { ASSERT_TRUE(ReadyFile(path_).Prepare(kUri).ok()); }
  EXPECT_EQ(NumFiles(), 0);
}

TEST_F(ReadyFileTest, AStaleOneGoes) {
  for (const char* stale : {kUri, "", "ofi://x/y\nverbs://z/y\n"}) {
    Make(stale);
    EXPECT_TRUE(ReadyFile(path_).Check().ok());
    EXPECT_EQ(Content(path_), stale);
    EXPECT_TRUE(ReadyFile(path_).RemoveStale().ok());
    EXPECT_EQ(NumFiles(), 0);
    EXPECT_TRUE(ReadyFile(path_).RemoveStale().ok());
  }
}

TEST_F(ReadyFileTest, OtherContentIsNobodysReadyFile) {
  for (const std::string& content :
       {std::string("listener { uri: \"tcp://a\" }\n"), std::string(4096, '\0'),
        std::string("tcp://a/b\nsecret\n"), "tcp://" + std::string(1 << 20, 'x') + "\n"}) {
    Make(content);
    ExpectRefused(content.size() > 1 << 20 ? "1 MiB" : "no URIs");
    EXPECT_EQ(Content(path_), content);
    EXPECT_EQ(NumFiles(), 1);
  }
}

TEST_F(ReadyFileTest, NeitherIsWhatIsNoRegularFile) {
  const std::string target = directory_ + "/target";
  std::ofstream(target) << kUri;
  ASSERT_EQ(symlink(target.c_str(), path_.c_str()), 0);
  ExpectRefused("symbolic link");
  EXPECT_EQ(Content(target), kUri);
  ASSERT_EQ(unlink(target.c_str()), 0);
  ExpectRefused("symbolic link");  // one that leads nowhere
  ASSERT_EQ(unlink(path_.c_str()), 0);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  ExpectRefused("not a regular file");
  ASSERT_EQ(unlink(path_.c_str()), 0);
  ASSERT_EQ(mkdir(path_.c_str(), 0700), 0);
  ExpectRefused("Is a directory");
  EXPECT_EQ(NumFiles(), 1);
}

// Which earlier versions used on the way.
TEST_F(ReadyFileTest, TheNameNewIsSomebodyElses) {
  ASSERT_EQ(mkfifo((path_ + ".new").c_str(), 0600), 0);
  ReadyFile file(path_);
  ASSERT_TRUE(file.Prepare(kUri).ok());
  ASSERT_TRUE(file.Publish().ok());
  EXPECT_TRUE(file.Remove().ok());
  EXPECT_EQ(NumFiles(), 1);
}

TEST_F(ReadyFileTest, ThatOfATargetThatRunsStays) {
  ReadyFile running(path_);
  ASSERT_TRUE(running.Prepare(kUri).ok());
  ASSERT_TRUE(running.Publish().ok());
  ReadyFile second(path_);
  EXPECT_TRUE(second.Check().ok());  // a look at a configuration is nobody's start
  for (const absl::Status& status : {second.RemoveStale(), second.Prepare("tcp://b/c\n")}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()), HasSubstr("belongs to a target that runs"));
    EXPECT_THAT(std::string(status.message()), HasSubstr(path_));
  }
  EXPECT_TRUE(second.Remove().ok());
  EXPECT_EQ(Content(path_), kUri);
}

TEST_F(ReadyFileTest, ThatOfATargetThatWasKilledGoes) {
  {
    ReadyFile killed(path_);
    ASSERT_TRUE(killed.Prepare(kUri).ok());
    ASSERT_TRUE(killed.Publish().ok());
  }
  ASSERT_EQ(Content(path_), kUri);
  EXPECT_TRUE(ReadyFile(path_).RemoveStale().ok());
  EXPECT_EQ(NumFiles(), 0);
}

// Two starts at a time.
TEST_F(ReadyFileTest, WhoPublishesFirstKeepsTheName) {
  ReadyFile first(path_), second(path_);
  ASSERT_TRUE(first.Prepare(kUri).ok());
  ASSERT_TRUE(second.Prepare("tcp://b/c\n").ok());
  ASSERT_TRUE(first.Publish().ok());
  EXPECT_EQ(second.Publish().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Content(path_), kUri);
}

TEST_F(ReadyFileTest, WhatHasTheNameAtTheEndIsNotRemoved) {
  ReadyFile file(path_);
  ASSERT_TRUE(file.Prepare(kUri).ok());
  ASSERT_TRUE(file.Publish().ok());
  ASSERT_EQ(rename(path_.c_str(), (path_ + ".old").c_str()), 0);
  Make(kUri);
  EXPECT_TRUE(file.Remove().ok());
  EXPECT_EQ(NumFiles(), 2);
}

TEST_F(ReadyFileTest, AFileThatTookTheNameWhileItStartedIsNotReplaced) {
  ReadyFile file(path_);
  ASSERT_TRUE(file.Prepare(kUri).ok());
  Make("a disk");
  EXPECT_EQ(file.Publish().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Content(path_), "a disk");
}

// Of two starts that find a stale file, one must not remove what the other one has put in its
// place: whoever removes holds its lock from before the last look on.
TEST_F(ReadyFileTest, AStaleOneThatSomebodyIsRemovingIsLeftToHim) {
  Make(kUri);
  const int remover = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(remover, LOCK_EX | LOCK_NB), 0);
  ReadyFile file(path_);
  std::thread removal([&] {
    usleep(10000);
    unlink(path_.c_str());
    close(remover);
  });
  EXPECT_TRUE(file.RemoveStale().ok());
  removal.join();
  EXPECT_EQ(NumFiles(), 0);
}

TEST_F(ReadyFileTest, TheLongestNames) {
  ReadyFile file(directory_ + "/" + std::string(255, 'x'));
  ASSERT_TRUE(file.Check().ok());
  ASSERT_TRUE(file.Prepare(kUri).ok());
  EXPECT_TRUE(file.Publish().ok());
  EXPECT_TRUE(file.Remove().ok());
  EXPECT_EQ(NumFiles(), 0);
}

TEST_F(ReadyFileTest, NoPathIsNoFile) {
  ReadyFile none("");
  EXPECT_TRUE(none.Check().ok());
  EXPECT_TRUE(none.RemoveStale().ok());
  EXPECT_TRUE(none.Prepare(kUri).ok());
  EXPECT_TRUE(none.Publish().ok());
  EXPECT_TRUE(none.Remove().ok());
}

TEST_F(ReadyFileTest, AFolderThatIsNotThere) {
  EXPECT_THAT(std::string(ReadyFile("/nonexistent/x").Check().message()),
              HasSubstr("/nonexistent: No such file"));
}

TEST_F(ReadyFileTest, ANameThatIsTooLongIsNotSaidToBeThere) {
  const absl::Status status = ReadyFile(directory_ + "/" + std::string(300, 'x')).RemoveStale();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("x: File name too long"));
}

}  // namespace
}  // namespace vof
