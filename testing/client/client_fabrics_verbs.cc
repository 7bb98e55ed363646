// SPDX-License-Identifier: Apache-2.0
#include "backends/verbs/verbs_backend.h"
#include "testing/client/client_fabrics.h"
#include "testing/vm/device_of_test.h"

namespace vof {

std::vector<ClientFabric> ClientFabrics() {
  return {{"verbs", "verbs://10.77.0.1:0", Transmission::kKeyed}};
}

void RegisterClientFabrics(BackendRegistry& registry) {
  registry.Add(std::make_unique<VerbsBackend>(VerbsOptions{}, DeviceOfTest()));
}

}  // namespace vof
