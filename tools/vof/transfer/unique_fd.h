// SPDX-License-Identifier: Apache-2.0
//
// A file descriptor with an owner.
//
//   UniqueFd fd(open(path, O_RDONLY | O_CLOEXEC));
//   if (!fd.ok()) return FileError("open", path, errno);
#ifndef VOF_TOOLS_VOF_TRANSFER_UNIQUE_FD_H_
#define VOF_TOOLS_VOF_TRANSFER_UNIQUE_FD_H_

#include <unistd.h>

#include <string_view>
#include <utility>

#include "absl/status/status.h"

namespace vof {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd() {
    if (fd_ >= 0) close(fd_);
  }

  bool ok() const { return fd_ >= 0; }
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

// "cannot open disk.img: No such file or directory". Never a code that stands for an answer of a
// target.
absl::Status FileError(std::string_view action, std::string_view path, int error_number);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TRANSFER_UNIQUE_FD_H_
