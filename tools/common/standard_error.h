// SPDX-License-Identifier: Apache-2.0
//
// Standard error for a program that must not wait for whoever reads it: a pipe whose reader hangs,
// a terminal that is stopped.
//
//   StandardError standard_error;
//   if (!standard_error.Write("a line\n")) ++lost;
//
// Where the system has no way to write without waiting (a terminal of another user), a thread waits
// instead (standard_error_relay.h). One thread at a time. Usable in a signal handler with
// `may_start_thread` false.
#ifndef VOF_TOOLS_COMMON_STANDARD_ERROR_H_
#define VOF_TOOLS_COMMON_STANDARD_ERROR_H_

#include <string_view>

#include "core/base/time.h"
#include "tools/common/standard_error_relay.h"

namespace vof {

struct StandardErrorOptions {
  // Without it, text for a terminal of another user is written byte by byte.
  bool may_start_thread = true;
  // Opened once more to have flags of its own; tests let that fail.
  const char* path = "/proc/self/fd/2";
};

class StandardError {
 public:
  explicit StandardError(const StandardErrorOptions& options = {});
  ~StandardError();
  StandardError(const StandardError&) = delete;
  StandardError& operator=(const StandardError&) = delete;

  // Writes the whole text, which is one or more lines, and returns true; or gives up when nothing
  // could be written for `patience`. Of a text that was given up a part may have been written; what
  // is written next begins a line of its own. Text that was written without patience may still be
  // with the thread; with it, it has reached standard error.
  bool Write(std::string_view text, Nanoseconds patience = 0);
  // Whether all that was written has reached standard error. Gives up when nothing more could be
  // written for `patience`.
  bool IsHandedOn(Nanoseconds patience);
  // Why the last Write gave up: EAGAIN when nobody reads, else what the system said.
  int error() const { return error_; }

 private:
  void StartRelay();
  bool WritePieces(std::string_view text, Nanoseconds patience);
  ssize_t WritePiece(std::string_view piece) const;

  int fd_;                               // own_, that of the relay, or descriptor 2 itself
  int own_ = -1;                         // closed at the end
  bool needs_relay_ = false;             // which is started when there is something to write
  StandardErrorRelay* relay_ = nullptr;  // of the process
  size_t most_at_once_;
  bool is_within_line_ = false;  // a text was given up in the middle
  int error_ = 0;
};

}  // namespace vof

#endif  // VOF_TOOLS_COMMON_STANDARD_ERROR_H_
