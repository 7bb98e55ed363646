// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/backend.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace vof {

std::unique_ptr<Connection> Link::Attach(std::unique_ptr<StreamEngine>) { return nullptr; }
std::unique_ptr<Connection> Link::AttachMessages(std::unique_ptr<MessageEngine>) { return nullptr; }

absl::StatusOr<Backend*> BackendRegistry::Find(std::string_view scheme) const {
  const auto it = backends_.find(scheme);
  if (it != backends_.end()) return it->second.get();
  const auto missing = missing_.find(scheme);
  if (missing != missing_.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("this build has no '", std::string(scheme), "': ", missing->second,
                     " (it has: ", absl::StrJoin(Schemes(), ", "), ")"));
  }
  std::string known = absl::StrJoin(Schemes(), ", ");
  if (known.empty()) known = "none, this program has no backend linked in";
  return absl::InvalidArgumentError(
      absl::StrCat("unknown scheme '", std::string(scheme), "' (known: ", known, ")"));
}

std::vector<std::string> BackendRegistry::Schemes() const {
  std::vector<std::string> schemes;
  schemes.reserve(backends_.size());
  for (const auto& [scheme, backend] : backends_) schemes.push_back(scheme);
  return schemes;
}

}  // namespace vof
