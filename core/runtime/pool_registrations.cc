// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/pool_registrations.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/check.h"

namespace vof {

absl::StatusOr<const RegionMap*> PoolRegistrations::For(const std::shared_ptr<Domain>& domain,
                                                        Access access) {
  const auto it = registered_.find({domain.get(), access});
  if (it != registered_.end()) return &it->second.regions;
  const MutableBuffer slab = pool_->slab();
  absl::StatusOr<Region> region = domain->Register(slab, access);
  if (!region.ok()) {
    return absl::Status(region.status().code(),
                        absl::StrCat("cannot register the payload pool of a reactor (",
                                     slab.size_bytes, " bytes; a smaller one is set by the pool's ",
                                     "size): ", region.status().message()));
  }
  Registered& registered = registered_[{domain.get(), access}];
  registered.domain = domain;
  Check(registered.regions.Add(*std::move(region)), "a map with one region has room for it");
  return &registered.regions;
}

}  // namespace vof
