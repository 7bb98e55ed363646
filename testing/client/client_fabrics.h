// SPDX-License-Identifier: Apache-2.0
//
// The fabrics that the suites of the clients run over. One file for each set of them is linked:
// those of every machine, those of libfabric, those of the guest with its RDMA device.
#ifndef VOF_TESTING_CLIENT_CLIENT_FABRICS_H_
#define VOF_TESTING_CLIENT_CLIENT_FABRICS_H_

#include <string>
#include <vector>

#include "core/runtime/backend.h"
#include "core/runtime/uri.h"

namespace vof {

struct ClientFabric {
  std::string name;    // in the names of tests
  std::string listen;  // where the target listens
  Transmission transmission = Transmission::kStream;
  bool is_keyed() const { return transmission == Transmission::kKeyed; }
};

std::vector<ClientFabric> ClientFabrics();
// The backends behind them.
void RegisterClientFabrics(BackendRegistry& registry);

}  // namespace vof

#endif  // VOF_TESTING_CLIENT_CLIENT_FABRICS_H_
