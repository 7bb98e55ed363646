// SPDX-License-Identifier: Apache-2.0
#include "tools/common/standard_descriptors.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace vof {
namespace {

// Runs in a process whose descriptors are its own to close: 0 when every check holds.
template <typename Body>
int InChild(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

void CloseThose(int mask) {
  for (int fd = 0; fd < 3; ++fd) {
    if ((mask & (1 << fd)) != 0) close(fd);
  }
}

bool IsNull(int fd) {
  char target[64] = {};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  return readlink(link.c_str(), target, sizeof(target) - 1) > 0 &&
         std::string(target) == "/dev/null";
}

TEST(StandardDescriptorsTest, FillsTheClosedOnesAndNoOthers) {
  for (int mask = 0; mask < 8; ++mask) {
    const int result = InChild([mask] {
      const int other = open("/", O_RDONLY | O_DIRECTORY);
      for (int fd = 0; fd < 3; ++fd) dup2(other, fd);
      CloseThose(mask);
      if (!OpenStandardDescriptors(ClosedDescriptors::kFail).ok()) return 1;
      for (int fd = 0; fd < 3; ++fd) {
        if (IsNull(fd) != ((mask & (1 << fd)) != 0)) return 2;
        if (fcntl(fd, F_GETFD) != 0) return 3;  // inherited
      }
      return open("/", O_RDONLY | O_DIRECTORY) > 2 ? 0 : 4;
    });
    EXPECT_EQ(result, 0) << "closed: " << mask;
  }
}

// 0: it takes and gives as an empty file does.
int Use(int fd) {
  char byte = 0;
  const ssize_t used = fd == STDIN_FILENO ? read(fd, &byte, 1) : write(fd, &byte, 1);
  return used < 0 ? errno : 0;
}

TEST(StandardDescriptorsTest, UseOfAClosedOneFailsWhereItMatters) {
  for (const auto closed : {ClosedDescriptors::kAreIgnored, ClosedDescriptors::kFail}) {
    const int expected = closed == ClosedDescriptors::kFail ? EBADF : 0;
    const int result = InChild([closed, expected] {
      CloseThose(7);
      if (!OpenStandardDescriptors(closed).ok()) return 1;
      if (Use(STDIN_FILENO) != expected) return 2;
      if (Use(STDOUT_FILENO) != expected) return 3;
      return Use(STDERR_FILENO) == 0 ? 0 : 4;
    });
    EXPECT_EQ(result, 0) << "expected: " << expected;
  }
}

TEST(StandardDescriptorsTest, SaysThatItCannot) {
  const int result = InChild([] {
    close(1);
    const rlimit none = {};
    if (setrlimit(RLIMIT_NOFILE, &none) != 0) return 1;
    const absl::Status status = OpenStandardDescriptors(ClosedDescriptors::kFail);
    return status.message().find("descriptor 1 is closed") == 0 ? 0 : 2;
  });
  EXPECT_EQ(result, 0);
}

}  // namespace
}  // namespace vof
