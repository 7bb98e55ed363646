// SPDX-License-Identifier: Apache-2.0
#include "backends/ofi/ofi_backend.h"
#include "testing/client/client_fabrics.h"

namespace vof {

std::vector<ClientFabric> ClientFabrics() {
  std::vector<ClientFabric> fabrics;
  for (const char* provider : {"tcp", "net", "shm", "sockets"}) {
    fabrics.push_back({std::string("ofi_") + provider,
                       std::string("ofi://127.0.0.1:0/?provider=") + provider,
                       Transmission::kKeyed});
  }
  return fabrics;
}

void RegisterClientFabrics(BackendRegistry& registry) { RegisterOfi(registry); }

}  // namespace vof
