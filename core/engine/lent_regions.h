// SPDX-License-Identifier: Apache-2.0
//
// What of the memory that a device lends is registered with the fabric of a queue.
//
//   LentRegions lent = keyed_host.lend(instance->identity());
//   for (const auto& region : lent.regions) map.Add(Region::Share(region));
#ifndef VOF_CORE_ENGINE_LENT_REGIONS_H_
#define VOF_CORE_ENGINE_LENT_REGIONS_H_

#include <functional>
#include <memory>
#include <vector>

#include "core/engine/target_instance.h"
#include "core/transport/domain.h"

namespace vof {

struct LentRegions {
  std::vector<std::shared_ptr<Region>> regions;  // they do not overlap
  bool complete = false;                         // all that the device lends is covered
};

// Registers what the device of an instance lends now; what was registered before stays as it is.
// Called on the queue's thread; may take as long as the fabric needs to pin the memory.
using LendMemoryFunction = std::function<LentRegions(const InstanceIdentity& identity)>;

}  // namespace vof

#endif  // VOF_CORE_ENGINE_LENT_REGIONS_H_
