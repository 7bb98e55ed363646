// SPDX-License-Identifier: Apache-2.0
//
// Which provider of libfabric serves a URI, and what it asks of its users.
//
//   absl::StatusOr<OfiProvider> provider = FindProvider(uri.options.provider);   // "" : the first
//   absl::StatusOr<InfoPtr> info = QueryProvider(*provider, {.node = "192.0.2.1", .service =
//   "8549",
//                                                            .is_source = true});
//
// Any thread; the first call of a process loads libfabric's providers and may take a while.
#ifndef VOF_BACKENDS_OFI_OFI_PROVIDER_H_
#define VOF_BACKENDS_OFI_OFI_PROVIDER_H_

#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "backends/ofi/ofi_handle.h"

namespace vof {

struct OfiProvider {
  std::string name;                  // "tcp", "shm"
  fi_ep_type type = FI_EP_UNSPEC;    // FI_EP_MSG, or FI_EP_RDM
  bool has_network_address = false;  // endpoints are bound to an address of a host; shm: no
};

// FI_EP_MSG where the provider has it. kInvalidArgument for a name that is not there, with the list
// of those that are; kUnavailable when none is usable at all.
absl::StatusOr<OfiProvider> FindProvider(std::string_view name);

struct ProviderQuery {
  std::string node = {};     // a numeric address; empty: none
  std::string service = {};  // a port; empty: any
  bool is_source = false;    // of this end, not of the peer
};

// Whether a fetch counts as done although the peer has answered with fewer bytes than were asked
// for, so that what was in the buffer before would be taken for the peer's. `name` is the
// provider's.
bool BelievesShortFetches(std::string_view name);

// One description, with which domains and endpoints can be opened. It orders sends behind sends and
// behind stores when the provider can at all (see tx_attr->msg_order).
absl::StatusOr<InfoPtr> QueryProvider(const OfiProvider& provider, const ProviderQuery& query);

}  // namespace vof

#endif  // VOF_BACKENDS_OFI_OFI_PROVIDER_H_
