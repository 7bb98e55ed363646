// SPDX-License-Identifier: Apache-2.0
#include "backends/verbs/verbs_backend.h"
#include "tools/fabrics/fabrics.h"

namespace vof {

void RegisterVerbsIfBuilt(BackendRegistry& registry, const TroubleHandler& on_trouble) {
  RegisterVerbs(registry, {}, on_trouble);
}

}  // namespace vof
