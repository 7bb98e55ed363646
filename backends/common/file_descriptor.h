// SPDX-License-Identifier: Apache-2.0
//
// Owns a descriptor and closes it.
//
//   FileDescriptor fd(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
//   if (!fd) return absl::ErrnoToStatus(errno, "socket");
#ifndef VOF_BACKENDS_COMMON_FILE_DESCRIPTOR_H_
#define VOF_BACKENDS_COMMON_FILE_DESCRIPTOR_H_

#include <unistd.h>

#include <utility>

namespace vof {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~FileDescriptor() { reset(); }

  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

}  // namespace vof

#endif  // VOF_BACKENDS_COMMON_FILE_DESCRIPTOR_H_
