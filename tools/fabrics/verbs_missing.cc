// SPDX-License-Identifier: Apache-2.0
#include "tools/fabrics/fabrics.h"

namespace vof {

void RegisterVerbsIfBuilt(BackendRegistry& registry, const TroubleHandler&) {
  registry.AddMissing("verbs",
                      "rdma-core was not there when it was built; install libibverbs-dev and "
                      "librdmacm-dev and build again");
}

}  // namespace vof
