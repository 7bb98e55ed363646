// SPDX-License-Identifier: Apache-2.0
#include "tools/fabrics/fabrics.h"

namespace vof {

void RegisterOfiIfBuilt(BackendRegistry& registry, const TroubleHandler&) {
  registry.AddMissing(
      "ofi", "libfabric was not there when it was built; install libfabric-dev and build again");
}

}  // namespace vof
