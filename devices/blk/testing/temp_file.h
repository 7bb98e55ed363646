// SPDX-License-Identifier: Apache-2.0
//
// A path for a disk image of a test, removed at the end.
//
//   TempFile image;                 // where tests may write
//   TempFile image("/dev/shm");     // on a tmpfs
#ifndef VOF_DEVICES_BLK_TESTING_TEMP_FILE_H_
#define VOF_DEVICES_BLK_TESTING_TEMP_FILE_H_

#include <unistd.h>

#include <cstdlib>
#include <string>

namespace vof {

class TempFile {
 public:
  explicit TempFile(std::string directory = DefaultDirectory()) {
    std::string pattern = directory + "/vof-blk-XXXXXX";
    const int fd = mkstemp(pattern.data());
    if (fd < 0) return;
    close(fd);
    unlink(pattern.c_str());  // stores create it
    path_ = pattern;
  }
  ~TempFile() {
    if (!path_.empty()) unlink(path_.c_str());
  }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  // Empty when the directory cannot be written.
  const std::string& path() const { return path_; }

  static std::string DefaultDirectory() {
    const char* directory = std::getenv("TEST_TMPDIR");
    return directory != nullptr ? directory : "/tmp";
  }

 private:
  std::string path_;
};

}  // namespace vof

#endif  // VOF_DEVICES_BLK_TESTING_TEMP_FILE_H_
