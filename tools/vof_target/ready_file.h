// SPDX-License-Identifier: Apache-2.0
//
// The file that tells that a target serves (--ready-file): there while it does, complete, and at no
// other time. A name given by mistake costs nobody a file: what does not look like a ready file is
// neither removed nor replaced, and neither is the one of another target that runs.
//
//   ReadyFile file("/run/vof.ready");
//   if (absl::Status stale = file.RemoveStale(); !stale.ok()) ...     // at once
//   ...
//   absl::Status status = file.Prepare("tcp://127.0.0.1:34567/mem0\n");
//   if (status.ok()) status = file.Publish();
//   ...
//   status = file.Remove();
#ifndef VOF_TOOLS_VOF_TARGET_READY_FILE_H_
#define VOF_TOOLS_VOF_TARGET_READY_FILE_H_

#include <atomic>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"

namespace vof {

// Whether that may be the content of a ready file: every line begins with SCHEME://. Nothing may
// be, since a file on a file system without room is empty.
bool LooksLikeReadyFile(std::string_view content);

// Errors name the file and the reason: kInvalidArgument for a name that cannot be a ready file's,
// kFailedPrecondition for a ready file of a target that runs, else what the system said.
class ReadyFile {
 public:
  // Without a path there is no file, and everything succeeds.
  explicit ReadyFile(std::string path) : path_(std::move(path)) {}
  // Leaves a published file where it is.
  ~ReadyFile();
  ReadyFile(const ReadyFile&) = delete;
  ReadyFile& operator=(const ReadyFile&) = delete;

  // Whether the file can be written, as far as that can be told without writing: its folder lets
  // this process create files, and what has its name, if anything, is a ready file.
  absl::Status Check() const;
  // What an earlier target left, so that nobody takes it for this one's. Nothing there is no error.
  absl::Status RemoveStale() const;
  // Writes it under another name, which goes again unless it is published.
  absl::Status Prepare(std::string_view text);
  absl::Status Publish();
  // What was published, unless another file has its name by now. Any thread, at any time.
  absl::Status Remove();

 private:
  absl::Status CannotWrite(const std::string& path) const;

  const std::string path_;
  std::string beside_;  // not published yet; empty: nothing
  // Of the file that this target wrote, and locked: that lock says that the target runs.
  int fd_ = -1;
  std::atomic<bool> is_published_ = false;
};

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TARGET_READY_FILE_H_
