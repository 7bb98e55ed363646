// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/transfer/unique_fd.h"

#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace vof {

absl::Status FileError(std::string_view action, std::string_view path, int error_number) {
  return absl::UnknownError(absl::StrCat("cannot ", std::string(action), " ", std::string(path),
                                         ": ", std::generic_category().message(error_number)));
}

}  // namespace vof
