// SPDX-License-Identifier: Apache-2.0
//
// vof-target-verbs: serves devices over RDMA verbs only.
#include "backends/verbs/verbs_backend.h"
#include "tools/vof_target/event_log.h"
#include "tools/vof_target/target_main.h"

int main(int argc, char** argv) {
  const auto register_backends = [](vof::BackendRegistry& registry) {
    vof::RegisterVerbs(registry, {}, vof::MakeListenerLog());
  };
  return vof::TargetMain({.name = "vof-target-verbs", .register_backends = register_backends}, argc,
                         argv);
}
