// SPDX-License-Identifier: Apache-2.0
//
// What libfabric answered, in words for people.
//
//   if (const int result = fi_listen(pep); result != 0) {
//     return OfiError(result, absl::StrCat("cannot listen on ", address));
//   }
#ifndef VOF_BACKENDS_OFI_OFI_ERROR_H_
#define VOF_BACKENDS_OFI_OFI_ERROR_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace vof {

// `result` as libfabric returned it: negative, or positive as in its events.
std::string OfiErrorText(int result);
// "`what`: cause", with the status code that fits the cause.
absl::Status OfiError(int result, std::string_view what);

}  // namespace vof

#endif  // VOF_BACKENDS_OFI_OFI_ERROR_H_
