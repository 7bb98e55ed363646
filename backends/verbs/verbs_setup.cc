// SPDX-License-Identifier: Apache-2.0
#include "backends/verbs/verbs_setup.h"

#include <algorithm>
#include <utility>

namespace vof {
namespace {

// A message that finds no receive waits as long as it takes, and a packet is sent again as often as
// there is a number for.
constexpr uint8_t kRetryForEver = 7;

uint8_t Clamp(int device, int limit) { return static_cast<uint8_t>(std::clamp(device, 0, limit)); }

}  // namespace

absl::StatusOr<std::unique_ptr<VerbsChannel>> VerbsSetup::MakeChannel(VerbsId id) {
  absl::StatusOr<std::shared_ptr<VerbsDomain>> domain = domains_.Of(id.get());
  if (!domain.ok()) return domain.status();
  VerbsChannel::Setup setup{*std::move(domain), nullptr, options_};
  if (options_.shared_receives && setup.domain->attributes().max_srq > 0) {
    absl::StatusOr<std::shared_ptr<VerbsReceives>> receives = SharedReceives(setup.domain);
    if (!receives.ok()) return receives.status();
    setup.shared_receives = *std::move(receives);
  }
  return VerbsChannel::Create(std::move(setup), std::move(id));
}

absl::StatusOr<std::shared_ptr<VerbsReceives>> VerbsSetup::SharedReceives(
    const std::shared_ptr<VerbsDomain>& domain) {
  std::lock_guard<std::mutex> lock(mutex_);
  // The receives of an earlier domain at the same address are gone: they hold theirs.
  std::weak_ptr<VerbsReceives>& known = shared_receives_[domain.get()];
  if (std::shared_ptr<VerbsReceives> receives = known.lock(); receives != nullptr) return receives;
  absl::StatusOr<std::shared_ptr<VerbsReceives>> made =
      VerbsReceives::Shared(domain, options_.max_shared_receives);
  if (made.ok()) known = *made;
  return made;
}

rdma_conn_param ConnectParameters(const ibv_device_attr& device) {
  rdma_conn_param parameters = {};
  parameters.responder_resources = Clamp(device.max_qp_rd_atom, RDMA_MAX_RESP_RES);
  parameters.initiator_depth = Clamp(device.max_qp_init_rd_atom, RDMA_MAX_INIT_DEPTH);
  parameters.flow_control = 1;
  parameters.retry_count = kRetryForEver;
  parameters.rnr_retry_count = kRetryForEver;
  return parameters;
}

rdma_conn_param AcceptParameters(const ibv_device_attr& device, const VerbsEvent& request) {
  rdma_conn_param parameters = ConnectParameters(device);
  parameters.responder_resources =
      std::min(parameters.responder_resources, request.responder_resources);
  parameters.initiator_depth = std::min(parameters.initiator_depth, request.initiator_depth);
  return parameters;
}

}  // namespace vof
