// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/created_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace vof {

void CreatedFiles::Add(const std::string& path) {
  struct stat s;
  if (stat(path.c_str(), &s) == 0) files_.push_back({path, s.st_dev, s.st_ino});
}

std::vector<std::string> CreatedFiles::RemoveUnused() {
  std::vector<std::string> removed;
  for (const File& file : std::exchange(files_, {})) {
    struct stat s;
    if (stat(file.path.c_str(), &s) != 0) continue;
    const bool is_same = s.st_dev == file.device && s.st_ino == file.inode;
    if (!is_same || s.st_blocks != 0) continue;
    if (unlink(file.path.c_str()) == 0) removed.push_back(file.path);
  }
  return removed;
}

}  // namespace vof
