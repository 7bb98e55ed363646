// SPDX-License-Identifier: Apache-2.0
#include "tools/fabrics/fabrics.h"

#include "backends/tcp/tcp_backend.h"

namespace vof {

void RegisterFabrics(BackendRegistry& registry, const TroubleHandler& on_trouble) {
  RegisterTcp(registry, {}, on_trouble);
  RegisterOfiIfBuilt(registry, on_trouble);
  RegisterVerbsIfBuilt(registry, on_trouble);
}

}  // namespace vof
