// SPDX-License-Identifier: Apache-2.0
#include "backends/loopback/loopback_backend.h"
#include "backends/ofi/fabric_library.h"
#include "backends/ofi/ofi_backend.h"
#include "testing/hostile/keyed_life_fabrics.h"

namespace vof {

void PrepareFabricsOfTest() { FabricLibrary::PrepareProcess(); }

void LoadFabricsOfTest() { static_cast<void>(FabricLibrary::Load()); }

void RegisterFabricsOfTest(BackendRegistry& registry) {
  RegisterLoopback(registry);
  RegisterOfi(registry);
}

}  // namespace vof
