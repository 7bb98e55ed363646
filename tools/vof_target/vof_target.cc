// SPDX-License-Identifier: Apache-2.0
//
// vof-target: serves devices over every fabric that this build has.
#include "tools/fabrics/fabrics.h"
#include "tools/vof_target/event_log.h"
#include "tools/vof_target/target_main.h"

int main(int argc, char** argv) {
  const auto register_backends = [](vof::BackendRegistry& registry) {
    vof::RegisterFabrics(registry, vof::MakeListenerLog());
  };
  return vof::TargetMain({.name = "vof-target", .register_backends = register_backends}, argc,
                         argv);
}
