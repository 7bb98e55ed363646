// SPDX-License-Identifier: Apache-2.0
//
// The objects of libfabric that one channel consists of, in the order in which they may be closed.
//
//   absl::StatusOr<OfiEndpoint> endpoint = OfiEndpoint::Open(domain, *info);
//   fi_connect(endpoint->ep.get(), ...);                     // FI_EP_MSG
//   endpoint->SetPeer(name_of_the_peer);                     // FI_EP_RDM
//   auto channel = std::make_unique<OfiChannel>(*std::move(endpoint), peer);
#ifndef VOF_BACKENDS_OFI_OFI_ENDPOINT_H_
#define VOF_BACKENDS_OFI_OFI_ENDPOINT_H_

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/common/file_descriptor.h"
#include "backends/ofi/ofi_domain.h"
#include "backends/ofi/ofi_handle.h"
#include "backends/ofi/ofi_receives.h"
#include "core/base/time.h"

namespace vof {

// The longest name of an endpoint that is taken from a peer; those of providers have up to 64.
inline constexpr size_t kMaxEndpointNameBytes = 256;

// Posts outstanding at most. Memory of shm grows with it, for each endpoint.
inline constexpr size_t kOfiSendDepth = 256;

struct OfiEndpoint {
  // Enabled: receives may be posted. FI_EP_MSG has an event queue, FI_EP_RDM an address vector.
  // Of a connection request: `took_request` is set when the request has become the endpoint's, and
  // ends with it; before, it is the caller's to refuse.
  static absl::StatusOr<OfiEndpoint> Open(std::shared_ptr<OfiDomain> domain, InfoPtr info,
                                          bool* took_request = nullptr);

  // FI_EP_RDM. The name that a peer needs (of shared memory: memory_name.h), asked for once; and
  // what to do with that of the peer.
  absl::StatusOr<std::vector<std::byte>> Name() const;
  absl::Status SetPeer(std::span<const std::byte> name);

  // The peer has mapped the memory of this endpoint: its name is of no use to anybody else.
  void RemoveName();

  // Of sends and stores.
  bool completes_in_order() const {
    return (info->tx_attr->comp_order & FI_ORDER_STRICT) == FI_ORDER_STRICT;
  }
  bool is_connected_type() const { return info->ep_attr->type == FI_EP_MSG; }

  std::shared_ptr<OfiDomain> domain;
  InfoPtr info;
  FileDescriptor side;  // FI_EP_RDM: its end is the end of the channel
  FidPtr<fid_eq> eq;    // FI_EP_MSG
  FidPtr<fid_av> av;    // FI_EP_RDM
  FidPtr<fid_cq> cq;
  // Those of the domain, or else of its channel, which makes them.
  std::shared_ptr<OfiReceives> receives;
  FidPtr<fid_ep> ep;
  // FI_EP_RDM by shared memory: its file. Who is killed leaves it behind, 16 MiB of memory, and the
  // provider would give the same name to the next process with that number.
  std::string memory_file;
  fi_addr_t peer = FI_ADDR_UNSPEC;  // FI_EP_RDM
  int cq_fd = -1;                   // readable when armed and something happened; -1: not offered
  int eq_fd = -1;
};

// For an endpoint without connection whose channel is gone while the peer may still use it: its
// domain keeps it until the peer has closed the side connection, `until` at most or while the
// domain is not used.
void BuryEndpoint(OfiEndpoint endpoint, MonotonicTime until);

// An event queue with a descriptor to wait on where the provider has one.
absl::StatusOr<FidPtr<fid_eq>> OpenEventQueue(fid_fabric* fabric);
// -1: not offered, or of no use.
int WaitDescriptor(const fi_info& info, fid* object);

}  // namespace vof

#endif  // VOF_BACKENDS_OFI_OFI_ENDPOINT_H_
