// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/shell/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/common/size.h"

namespace vof {
namespace {

constexpr int kBarWidth = 30;
constexpr const char* kEraseLine = "\r\x1b[K";

double Seconds(Nanoseconds time) {
  return static_cast<double>(time) / static_cast<double>(kNanosecondsPerSecond);
}

}  // namespace

ProgressLine::ProgressLine(bool wanted) : enabled_(wanted && isatty(STDERR_FILENO) == 1) {}

void ProgressLine::Show(std::string_view text) {
  if (!enabled_) return;
  std::fprintf(stderr, "%s%.*s", kEraseLine, static_cast<int>(text.size()), text.data());
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::Clear() {
  if (!shown_) return;
  std::fputs(kEraseLine, stderr);
  std::fflush(stderr);
  shown_ = false;
}

std::string FormatRate(uint64_t bytes, Nanoseconds elapsed) {
  if (elapsed <= 0) return "-";
  const double per_second = static_cast<double>(bytes) / Seconds(elapsed);
  return absl::StrCat(HumanSize(static_cast<uint64_t>(per_second)), "/s");
}

std::string FormatTransferProgress(uint64_t done_bytes, uint64_t total_bytes, Nanoseconds elapsed) {
  const std::string rate = FormatRate(done_bytes, elapsed);
  if (total_bytes == 0) return absl::StrCat(HumanSize(done_bytes), "  ", rate);
  const double part =
      std::min(1.0, static_cast<double>(done_bytes) / static_cast<double>(total_bytes));
  const int filled = static_cast<int>(part * kBarWidth);
  std::string line = absl::StrFormat(
      "[%s%s] %3d %%  %s of %s  %s", std::string(static_cast<size_t>(filled), '#'),
      std::string(static_cast<size_t>(kBarWidth - filled), '.'), static_cast<int>(part * 100),
      HumanSize(done_bytes), HumanSize(total_bytes), rate);
  if (done_bytes > 0) {
    absl::StrAppendFormat(&line, "  %.0f s left", Seconds(elapsed) * (1.0 - part) / part);
  }
  return line;
}

}  // namespace vof
