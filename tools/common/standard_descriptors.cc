// SPDX-License-Identifier: Apache-2.0
#include "tools/common/standard_descriptors.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace vof {

namespace {

// The way it is not used makes its use fail.
int ModeOf(int fd, ClosedDescriptors closed) {
  if (closed == ClosedDescriptors::kAreIgnored || fd == STDERR_FILENO) return O_RDWR;
  return fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
}

}  // namespace

absl::Status OpenStandardDescriptors(ClosedDescriptors closed) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest free number, which is this one: those below it are open by now.
    const int opened = open("/dev/null", ModeOf(fd, closed));
    if (opened == fd) continue;
    return absl::InternalError(absl::StrCat(
        "descriptor ", fd, " is closed and cannot be replaced by /dev/null: ",
        opened < 0 ? std::strerror(errno) : "something else opens files at the same time",
        "; start the program with stdin, stdout and stderr open"));
  }
  return absl::OkStatus();
}

}  // namespace vof
