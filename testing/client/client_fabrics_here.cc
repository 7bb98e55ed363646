// SPDX-License-Identifier: Apache-2.0
#include "backends/loopback/loopback_backend.h"
#include "backends/tcp/tcp_backend.h"
#include "testing/client/client_fabrics.h"

namespace vof {

std::vector<ClientFabric> ClientFabrics() {
  return {{"loop", "loop:///"},
          {"fabric", "loop:///", Transmission::kKeyed},
          {"tcp", "tcp://127.0.0.1:0"}};
}

void RegisterClientFabrics(BackendRegistry& registry) {
  RegisterLoopback(registry);
  RegisterTcp(registry);
}

}  // namespace vof
