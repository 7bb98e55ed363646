// SPDX-License-Identifier: Apache-2.0
//
// vof-target-tcp: serves devices over TCP only, and needs no library of another fabric.
#include "backends/tcp/tcp_backend.h"
#include "tools/vof_target/event_log.h"
#include "tools/vof_target/target_main.h"

int main(int argc, char** argv) {
  const auto register_backends = [](vof::BackendRegistry& registry) {
    vof::RegisterTcp(registry, {}, vof::MakeListenerLog());
  };
  return vof::TargetMain({.name = "vof-target-tcp", .register_backends = register_backends}, argc,
                         argv);
}
