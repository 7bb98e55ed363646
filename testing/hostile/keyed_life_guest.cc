// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "backends/verbs/verbs_backend.h"
#include "testing/hostile/keyed_life_fabrics.h"

namespace vof {

// The emulated machine takes half a second for a session, and is told nothing by our environment.
void PrepareFabricsOfTest() {
  setenv("VOF_KEYED_KILL_CYCLES", "48", /*overwrite=*/0);
  setenv("VOF_KEYED_CONNECT_CYCLES", "60", /*overwrite=*/0);
}

void LoadFabricsOfTest() {}

void RegisterFabricsOfTest(BackendRegistry& registry) { RegisterVerbs(registry); }

}  // namespace vof
