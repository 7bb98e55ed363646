// SPDX-License-Identifier: Apache-2.0
//
// A line on the terminal that is rewritten while work goes on.
//
//   ProgressLine progress(!output.json() && !output.quiet());
//   progress.Show(FormatTransferProgress(done, total, elapsed));    // nothing unless stderr is a
//   terminal
//
// The line is erased by the destructor, so that the result stands alone.
#ifndef VOF_TOOLS_VOF_SHELL_PROGRESS_H_
#define VOF_TOOLS_VOF_SHELL_PROGRESS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/time.h"

namespace vof {

class ProgressLine {
 public:
  explicit ProgressLine(bool wanted);
  ~ProgressLine() { Clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  bool enabled() const { return enabled_; }
  void Show(std::string_view text);
  void Clear();

 private:
  const bool enabled_;
  bool shown_ = false;
};

// "[######......]  50 %  1.5 GiB of 3 GiB  512 MiB/s  3 s left". `total_bytes` 0: not known, no
// bar.
std::string FormatTransferProgress(uint64_t done_bytes, uint64_t total_bytes, Nanoseconds elapsed);

// "512 MiB/s"; "-" when no time has passed.
std::string FormatRate(uint64_t bytes, Nanoseconds elapsed);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_SHELL_PROGRESS_H_
