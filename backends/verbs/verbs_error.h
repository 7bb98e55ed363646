// SPDX-License-Identifier: Apache-2.0
//
// Errors of RDMA calls for people: what failed, why, what to do.
//
//   return VerbsError("cannot create a completion queue on rxe0", errno);
#ifndef VOF_BACKENDS_VERBS_VERBS_ERROR_H_
#define VOF_BACKENDS_VERBS_VERBS_ERROR_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace vof {

// In words, with a remedy in parentheses where there is one.
std::string DescribeVerbsError(int error);
// kResourceExhausted where something is used up, kUnavailable without a device.
absl::Status VerbsError(std::string_view what, int error);

}  // namespace vof

#endif  // VOF_BACKENDS_VERBS_VERBS_ERROR_H_
