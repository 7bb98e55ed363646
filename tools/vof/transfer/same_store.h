// SPDX-License-Identifier: Apache-2.0
//
// Two addresses of one device: what is copied would be read where it was just written.
//
//   if (const absl::Status two = CheckTwoStores("a copy", *source, *destination); !two.ok()) ...
#ifndef VOF_TOOLS_VOF_TRANSFER_SAME_STORE_H_
#define VOF_TOOLS_VOF_TRANSFER_SAME_STORE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tools/vof/transfer/endpoint.h"

namespace vof {

// Of two names, for what makes sense with two devices only: `verb` is "a copy".
inline absl::Status SameDeviceError(std::string_view verb, const std::string& a,
                                    const std::string& b) {
  return absl::InvalidArgumentError(
      absl::StrCat(a, " and ", b, " are the same device: ", std::string(verb), " needs two"));
}

// kInvalidArgument: the bytes of both are known to be the same ones.
inline absl::Status CheckTwoStores(std::string_view verb, const Endpoint& a, const Endpoint& b) {
  if (a.store_epoch() == 0 || a.store_epoch() != b.store_epoch()) return absl::OkStatus();
  return SameDeviceError(verb, a.name(), b.name());
}

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TRANSFER_SAME_STORE_H_
