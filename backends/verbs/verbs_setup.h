// SPDX-License-Identifier: Apache-2.0
//
// What diallers and listeners share: the domains in use, and how a connection is asked for.
//
//   VerbsSetup setup(RealVerbsCalls(), options);
//   absl::StatusOr<std::unique_ptr<VerbsChannel>> channel = setup.MakeChannel(std::move(id));
//
// Inside this folder only. Any thread.
#ifndef VOF_BACKENDS_VERBS_VERBS_SETUP_H_
#define VOF_BACKENDS_VERBS_VERBS_SETUP_H_

#include <map>
#include <memory>
#include <mutex>

#include "absl/status/statusor.h"
#include "backends/verbs/verbs_calls.h"
#include "backends/verbs/verbs_channel.h"
#include "backends/verbs/verbs_connection.h"
#include "backends/verbs/verbs_domain.h"
#include "backends/verbs/verbs_options.h"
#include "backends/verbs/verbs_receives.h"

namespace vof {

class VerbsSetup {
 public:
  VerbsSetup(std::shared_ptr<VerbsCalls> calls, const VerbsOptions& options)
      : calls_(std::move(calls)), options_(options), domains_(calls_) {}

  const std::shared_ptr<VerbsCalls>& calls() const { return calls_; }
  const VerbsOptions& options() const { return options_; }

  // A channel over the device of `id`, not connected yet.
  absl::StatusOr<std::unique_ptr<VerbsChannel>> MakeChannel(VerbsId id);

 private:
  absl::StatusOr<std::shared_ptr<VerbsReceives>> SharedReceives(
      const std::shared_ptr<VerbsDomain>& domain);

  const std::shared_ptr<VerbsCalls> calls_;
  const VerbsOptions options_;
  VerbsDomains domains_;
  std::mutex mutex_;
  std::map<VerbsDomain*, std::weak_ptr<VerbsReceives>> shared_receives_;
};

// For rdma_connect: the peer may read as much at once as the device serves.
rdma_conn_param ConnectParameters(const ibv_device_attr& device);
// For rdma_accept: no more than the peer asked for, in either direction.
rdma_conn_param AcceptParameters(const ibv_device_attr& device, const VerbsEvent& request);

}  // namespace vof

#endif  // VOF_BACKENDS_VERBS_VERBS_SETUP_H_
