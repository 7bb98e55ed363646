// SPDX-License-Identifier: Apache-2.0
#include "backends/ofi/ofi_backend.h"
#include "tools/fabrics/fabrics.h"

namespace vof {

void RegisterOfiIfBuilt(BackendRegistry& registry, const TroubleHandler& on_trouble) {
  RegisterOfi(registry, on_trouble);
}

}  // namespace vof
