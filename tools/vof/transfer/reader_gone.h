// SPDX-License-Identifier: Apache-2.0
//
// That the other end of a pipe was closed, as in `vof read URI | head`: the end of the work, and
// nothing to complain about.
//
//   if (errno == EPIPE) return ReaderGoneError("standard output");
#ifndef VOF_TOOLS_VOF_TRANSFER_READER_GONE_H_
#define VOF_TOOLS_VOF_TRANSFER_READER_GONE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace vof {

inline constexpr char kReaderGoneUrl[] = "vof/reader_gone";

// kCancelled.
inline absl::Status ReaderGoneError(std::string_view name) {
  absl::Status status =
      absl::CancelledError(absl::StrCat("the reader of ", std::string(name), " went away"));
  status.SetPayload(kReaderGoneUrl, absl::Cord());
  return status;
}

inline bool IsReaderGone(const absl::Status& status) {
  return status.GetPayload(kReaderGoneUrl).has_value();
}

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TRANSFER_READER_GONE_H_
