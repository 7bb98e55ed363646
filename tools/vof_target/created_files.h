// SPDX-License-Identifier: Apache-2.0
//
// Disk files that a start has created, to be removed again when the start fails.
//
//   CreatedFiles created;
//   options.on_created = [&](const std::string& path) { created.Add(path); };
//   ...
//   if (!started.ok()) created.RemoveUnused();
//
// One thread.
#ifndef VOF_TOOLS_VOF_TARGET_CREATED_FILES_H_
#define VOF_TOOLS_VOF_TARGET_CREATED_FILES_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace vof {

class CreatedFiles {
 public:
  // Just created, and empty of data.
  void Add(const std::string& path);
  // Removes those that are still the same files and hold no data: an initiator may have been quick.
  // Returns what it removed. Call it while their locks are held.
  std::vector<std::string> RemoveUnused();

 private:
  struct File {
    std::string path;
    dev_t device;
    ino_t inode;
  };
  std::vector<File> files_;
};

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TARGET_CREATED_FILES_H_
