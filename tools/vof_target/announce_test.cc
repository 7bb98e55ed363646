// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/announce.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/vof_target/ready_file.h"

namespace vof {
namespace {

using ::testing::HasSubstr;

const char* const kUri = "tcp://127.0.0.1:1/mem0";

// A pipe whose writes wait.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(pipe2(ends_, O_CLOEXEC), 0); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close(ends_[0]);
    CloseWriter();
  }
  int writer() const { return ends_[1]; }
  // What Announce closed is not closed again.
  void CloseWriter() {
    if (fcntl(ends_[1], F_GETFD) != -1) close(ends_[1]);
  }
  void Fill() const {
    fcntl(ends_[1], F_SETFL, O_NONBLOCK);
    const std::string much(4096, '.');
    while (write(ends_[1], much.data(), much.size()) > 0) {
    }
    fcntl(ends_[1], F_SETFL, 0);
  }
  std::string ReadToEnd() const {
    std::string text;
    char part[4096];
    for (ssize_t n = 0; (n = read(ends_[0], part, sizeof(part))) > 0;) {
      text.append(part, static_cast<size_t>(n));
    }
    return text;
  }

 private:
  int ends_[2] = {-1, -1};
};

class AnnounceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "/announce_XXXXXX";
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    sigemptyset(&stopping_);
    sigaddset(&stopping_, SIGTERM);
    ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &stopping_, nullptr), 0);
    saved_ = dup(STDOUT_FILENO);
  }
  void TearDown() override {
    RestoreStdout();
    close(saved_);
    const timespec none = {};
    while (sigtimedwait(&stopping_, nullptr, &none) > 0) {
    }
    pthread_sigmask(SIG_UNBLOCK, &stopping_, nullptr);
    std::filesystem::remove_all(directory_);
  }
  static void ReplaceStdout(const Pipe& pipe) { dup2(pipe.writer(), STDOUT_FILENO); }
  void RestoreStdout() const { dup2(saved_, STDOUT_FILENO); }
  absl::Status AnnounceTo(int ready_fd) const {
    ReadyFile file(directory_ + "/ready");
    const absl::Status status = Announce({kUri}, ready_fd, &file);
    (void)file.Remove();
    return status;
  }
  bool IsSignalPending() const {
    sigset_t pending;
    return sigpending(&pending) == 0 && sigismember(&pending, SIGTERM) == 1;
  }

  std::string directory_;
  sigset_t stopping_;
  int saved_ = -1;
};

TEST_F(AnnounceTest, ASignalEndsTheWaitForAReaderOfStdout) {
  const Pipe pipe;
  pipe.Fill();
  ReplaceStdout(pipe);
  raise(SIGTERM);
  const absl::Status status = AnnounceTo(-1);
  RestoreStdout();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(status.message(), "interrupted while waiting for whoever reads standard output");
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
  EXPECT_TRUE(IsSignalPending());
}

TEST_F(AnnounceTest, ASignalThatComesWhileItWaits) {
  const Pipe pipe;
  pipe.Fill();
  ReplaceStdout(pipe);
  std::thread other([] {
    usleep(200'000);  // style: allow(sleep) when it comes earlier, the test is the one above
    kill(getpid(), SIGTERM);
  });
  const absl::Status status = AnnounceTo(-1);
  other.join();
  RestoreStdout();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
}

TEST_F(AnnounceTest, ASignalEndsTheWaitForAReaderOfTheDescriptor) {
  const Pipe out, ready;
  ready.Fill();
  ReplaceStdout(out);
  raise(SIGTERM);
  const absl::Status status = AnnounceTo(ready.writer());
  RestoreStdout();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(std::string(status.message()), HasSubstr("(--ready-fd)"));
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

// It serves, and then drains.
TEST_F(AnnounceTest, ASignalIsLeftToOthersWhenThereIsRoom) {
  Pipe out;
  const Pipe ready;
  ReplaceStdout(out);
  raise(SIGTERM);
  const absl::Status status = AnnounceTo(ready.writer());
  RestoreStdout();
  out.CloseWriter();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(IsSignalPending());
  EXPECT_EQ(out.ReadToEnd(), std::string(kUri) + "\n");
  EXPECT_EQ(ready.ReadToEnd(), std::string(kUri) + "\n");
}

TEST_F(AnnounceTest, MoreThanFitsArrivesAtAReader) {
  Pipe out;
  ReplaceStdout(out);
  std::string text;
  std::thread reader([&] { text = out.ReadToEnd(); });
  const std::vector<std::string> uris(10'000, kUri);
  ReadyFile none("");
  const absl::Status status = Announce(uris, -1, &none);
  RestoreStdout();
  out.CloseWriter();
  reader.join();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(text.size(), uris.size() * (std::string(kUri).size() + 1));
}

}  // namespace
}  // namespace vof
