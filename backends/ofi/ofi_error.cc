// SPDX-License-Identifier: Apache-2.0
#include "backends/ofi/ofi_error.h"

#include <rdma/fi_errno.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "backends/ofi/fabric_library.h"

namespace vof {

std::string OfiErrorText(int result) { return FabricLibrary::Loaded().strerror(std::abs(result)); }

absl::Status OfiError(int result, std::string_view what) {
  const int error = std::abs(result);
  const std::string text =
      absl::StrCat(absl::string_view(what.data(), what.size()), ": ", OfiErrorText(error));
  switch (error) {
    case FI_ENOMEM:
    case FI_EMFILE:
    case FI_ENOSPC:
      return absl::ResourceExhaustedError(text);
    case FI_ETIMEDOUT:
      return absl::DeadlineExceededError(text);
    case FI_EINVAL:
    case FI_ENOSYS:
      return absl::InternalError(text);
    default:
      return absl::UnavailableError(text);
  }
}

}  // namespace vof
