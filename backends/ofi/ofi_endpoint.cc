// SPDX-License-Identifier: Apache-2.0
#include "backends/ofi/ofi_endpoint.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/ofi/memory_name.h"
#include "backends/ofi/ofi_error.h"
#include "core/base/limits.h"

namespace vof {
namespace {

// Its descriptors stay readable once they have been: nothing of its interface clears them (1.17).
constexpr std::string_view kBadAtWaiting = "net";

absl::Status Failure(int result, const char* what, const fi_info& info) {
  return OfiError(result,
                  absl::StrCat("provider '", info.fabric_attr->prov_name, "' cannot ", what));
}

absl::Status OpenCompletionQueue(OfiEndpoint* endpoint) {
  const fi_info& info = *endpoint->info;
  fi_cq_attr attributes = {};
  // Every post and every receive may complete before anybody looks.
  attributes.size = info.tx_attr->size + info.rx_attr->size;
  // Whoever shares may have a message for each of its credits.
  if (endpoint->receives != nullptr) attributes.size += kMaxQueueSize;
  attributes.format = FI_CQ_FORMAT_DATA;
  int result = 0;
  for (const fi_wait_obj wait : {FI_WAIT_FD, FI_WAIT_NONE}) {
    attributes.wait_obj = wait;
    fid_cq* opened = nullptr;
    result = fi_cq_open(endpoint->domain->domain(), &attributes, &opened, nullptr);
    if (result != 0) continue;
    endpoint->cq.reset(opened);
    if (wait == FI_WAIT_FD) endpoint->cq_fd = WaitDescriptor(info, &opened->fid);
    return absl::OkStatus();
  }
  return Failure(result, "open a completion queue", info);
}

// Before the endpoint, which is opened for it.
absl::Status ShareReceives(OfiEndpoint* endpoint) {
  if (!endpoint->is_connected_type()) return absl::OkStatus();
  absl::StatusOr<std::shared_ptr<OfiReceives>> receives =
      OfiReceives::SharedOf(endpoint->domain, *endpoint->info);
  if (!receives.ok()) return receives.status();
  endpoint->receives = *std::move(receives);
  if (endpoint->receives != nullptr) {
    endpoint->info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
  }
  return absl::OkStatus();
}

absl::Status OpenAddressVector(OfiEndpoint* endpoint) {
  fi_av_attr attributes = {};
  attributes.type = FI_AV_TABLE;
  attributes.count = 1;
  fid_av* opened = nullptr;
  const int result = fi_av_open(endpoint->domain->domain(), &attributes, &opened, nullptr);
  if (result != 0) return Failure(result, "open an address vector", *endpoint->info);
  endpoint->av.reset(opened);
  return absl::OkStatus();
}

absl::Status NameSharedMemory(OfiEndpoint* endpoint) {
  absl::StatusOr<std::string> file = NewMemoryFile();
  if (!file.ok()) return file.status();
  std::string name = ProviderName(*file);
  const int result = fi_setname(&endpoint->ep->fid, name.data(), name.size() + 1);
  if (result != 0) return Failure(result, "name an endpoint", *endpoint->info);
  endpoint->memory_file = *std::move(file);
  return absl::OkStatus();
}

}  // namespace

void OfiEndpoint::RemoveName() {
  unlink(MemoryPath(memory_file).c_str());
  memory_file.clear();
}

void BuryEndpoint(OfiEndpoint endpoint, MonotonicTime until) {
  const std::shared_ptr<OfiDomain> domain = std::move(endpoint.domain);
  FileDescriptor side = std::move(endpoint.side);
  domain->Bury(std::make_shared<OfiEndpoint>(std::move(endpoint)), std::move(side), until);
}

int WaitDescriptor(const fi_info& info, fid* object) {
  int fd = -1;
  // Asked for in any case: with the question net begins to move bytes by itself.
  if (fi_control(object, FI_GETWAIT, &fd) != 0) return -1;
  return info.fabric_attr->prov_name == kBadAtWaiting ? -1 : fd;
}

absl::StatusOr<FidPtr<fid_eq>> OpenEventQueue(fid_fabric* fabric) {
  fi_eq_attr attributes = {};
  attributes.wait_obj = FI_WAIT_FD;
  fid_eq* opened = nullptr;
  const int result = fi_eq_open(fabric, &attributes, &opened, nullptr);
  if (result != 0) return OfiError(result, "libfabric cannot open an event queue");
  return FidPtr<fid_eq>(opened);
}

absl::StatusOr<OfiEndpoint> OfiEndpoint::Open(std::shared_ptr<OfiDomain> domain, InfoPtr info,
                                              bool* took_request) {
  OfiEndpoint endpoint;
  endpoint.domain = std::move(domain);
  endpoint.info = std::move(info);
  size_t& depth = endpoint.info->tx_attr->size;
  depth = std::min(depth, kOfiSendDepth);
  if (absl::Status s = ShareReceives(&endpoint); !s.ok()) return s;
  if (absl::Status s = OpenCompletionQueue(&endpoint); !s.ok()) return s;
  if (endpoint.is_connected_type()) {
    absl::StatusOr<FidPtr<fid_eq>> eq = OpenEventQueue(endpoint.domain->fabric());
    if (!eq.ok()) return eq.status();
    endpoint.eq = *std::move(eq);
    endpoint.eq_fd = WaitDescriptor(*endpoint.info, &endpoint.eq->fid);
  } else if (absl::Status s = OpenAddressVector(&endpoint); !s.ok()) {
    return s;
  }
  fid_ep* opened = nullptr;
  int result = fi_endpoint(endpoint.domain->domain(), endpoint.info.get(), &opened, nullptr);
  if (result != 0) return Failure(result, "open an endpoint", *endpoint.info);
  endpoint.ep.reset(opened);
  if (took_request != nullptr) *took_request = true;
  if (endpoint.info->addr_format == FI_ADDR_STR) {
    if (absl::Status s = NameSharedMemory(&endpoint); !s.ok()) return s;
  }
  fid* const bound = endpoint.eq != nullptr ? &endpoint.eq->fid : &endpoint.av->fid;
  result = fi_ep_bind(opened, bound, 0);
  const uint64_t sent = FI_TRANSMIT | (endpoint.completes_in_order() ? FI_SELECTIVE_COMPLETION : 0);
  if (result == 0) result = fi_ep_bind(opened, &endpoint.cq->fid, sent);
  if (result == 0) result = fi_ep_bind(opened, &endpoint.cq->fid, FI_RECV);
  if (result == 0 && endpoint.receives != nullptr) {
    result = fi_ep_bind(opened, &endpoint.receives->shared_context()->fid, 0);
  }
  if (result == 0) result = fi_enable(opened);
  if (result != 0) return Failure(result, "enable an endpoint", *endpoint.info);
  return endpoint;
}

absl::StatusOr<std::vector<std::byte>> OfiEndpoint::Name() const {
  if (!memory_file.empty()) return SealMemory(memory_file);
  std::vector<std::byte> name(kMaxEndpointNameBytes);
  size_t size = name.size();
  const int result = fi_getname(&ep->fid, name.data(), &size);
  if (result != 0) return Failure(result, "name an endpoint", *info);
  name.resize(size);
  return name;
}

absl::Status OfiEndpoint::SetPeer(std::span<const std::byte> name) {
  // A copy with a NUL behind it: names that are text end there, whatever the peer sent.
  std::vector<std::byte> terminated(name.begin(), name.end());
  terminated.resize(kMaxEndpointNameBytes + 1);
  const int inserted = fi_av_insert(av.get(), terminated.data(), 1, &peer, 0, nullptr);
  if (inserted == 1) return absl::OkStatus();
  return Failure(inserted < 0 ? inserted : -FI_EADDRNOTAVAIL, "reach the peer's endpoint", *info);
}

}  // namespace vof
