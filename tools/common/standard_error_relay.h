// SPDX-License-Identifier: Apache-2.0
//
// A thread that waits for the reader of standard error in the place of others: it copies from a
// pipe, which can be written without waiting, to descriptor 2, which cannot.
//
//   StandardErrorRelay* relay = StandardErrorRelay::OfThisProcess();
//   if (relay != nullptr) relay->Write("a line\n");
//
// Any thread, but no signal handler.
#ifndef VOF_TOOLS_COMMON_STANDARD_ERROR_RELAY_H_
#define VOF_TOOLS_COMMON_STANDARD_ERROR_RELAY_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "core/base/time.h"

namespace vof {

class StandardErrorRelay {
 public:
  // Starts it the first time; it stays until the process ends. nullptr: the system did not let it.
  static StandardErrorRelay* OfThisProcess();
  StandardErrorRelay(const StandardErrorRelay&) = delete;
  StandardErrorRelay& operator=(const StandardErrorRelay&) = delete;

  // For poll(). Nobody else writes there, or closes it.
  int fd() const { return writer_; }
  // As write(): never waits. Also fails, once, with the error for which an earlier text was lost.
  ssize_t Write(std::string_view text);
  // Whether all that was written before has reached descriptor 2 (or was lost with an error). Gives
  // up when nothing more reached it for `patience`.
  bool IsHandedOn(Nanoseconds patience) const;

 private:
  StandardErrorRelay() = default;
  ~StandardErrorRelay() = default;
  bool Start();
  void Run();
  void HandOn(std::string_view text);

  int reader_ = -1, writer_ = -1;
  std::atomic<int64_t> in_flight_ = 0;  // bytes, counted before they are in the pipe
  std::atomic<int64_t> handed_on_ = 0;  // bytes since the start
  std::atomic<int> error_ = 0;          // of a write to descriptor 2; nobody was told yet
};

}  // namespace vof

#endif  // VOF_TOOLS_COMMON_STANDARD_ERROR_RELAY_H_
