// SPDX-License-Identifier: Apache-2.0
//
// vof-target-ofi: serves devices over libfabric only.
#include "backends/ofi/ofi_backend.h"
#include "tools/vof_target/event_log.h"
#include "tools/vof_target/target_main.h"

int main(int argc, char** argv) {
  const auto register_backends = [](vof::BackendRegistry& registry) {
    vof::RegisterOfi(registry, vof::MakeListenerLog());
  };
  return vof::TargetMain({.name = "vof-target-ofi", .register_backends = register_backends}, argc,
                         argv);
}
