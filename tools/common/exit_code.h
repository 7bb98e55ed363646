// SPDX-License-Identifier: Apache-2.0
//
// What a program's exit status means; the same numbers in every program of this repository.
//
//   return ToInt(ExitCode::kUsage);
//
// Scripts depend on the numbers: they never change, and new ones go at the end.
// docs/configuration.md.
#ifndef VOF_TOOLS_COMMON_EXIT_CODE_H_
#define VOF_TOOLS_COMMON_EXIT_CODE_H_

#include "absl/status/status.h"

namespace vof {

enum class ExitCode : int {
  kOk = 0,
  kFailed = 1,         // the work failed: I/O error, file missing, port in use
  kUsage = 2,          // the command line or the configuration is wrong; nothing was done
  kCannotConnect = 3,  // the name does not resolve, nobody listens there, or what does is no target
  kRefused = 4,        // the target answered no: unknown device, in use, not allowed
  kTimeout = 5,
  kDataDiffer = 6,
  kUnsupported = 7,  // the device or the target cannot do that
};

constexpr int ToInt(ExitCode code) { return static_cast<int>(code); }

// The exit code that fits an error for which the program knows nothing better. kOk gives kOk.
constexpr ExitCode ExitCodeOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return ExitCode::kOk;
    case absl::StatusCode::kInvalidArgument:
      return ExitCode::kUsage;
    case absl::StatusCode::kUnavailable:
      return ExitCode::kCannotConnect;
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return ExitCode::kRefused;
    case absl::StatusCode::kDeadlineExceeded:
      return ExitCode::kTimeout;
    case absl::StatusCode::kDataLoss:
      return ExitCode::kDataDiffer;
    case absl::StatusCode::kUnimplemented:
      return ExitCode::kUnsupported;
    default:
      return ExitCode::kFailed;
  }
}

}  // namespace vof

#endif  // VOF_TOOLS_COMMON_EXIT_CODE_H_
