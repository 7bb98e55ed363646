// SPDX-License-Identifier: Apache-2.0
//
// Makers of connected pairs on the in-process fabric, in its variations.
//
//   absl::StatusOr<ChannelPair<FabricChannel>> pair = FabricPairMaker::Make();
//   pair->a->PostSend(...); pair->b->Reap(...);
#ifndef VOF_TESTING_CONFORMANCE_CHANNEL_PAIRS_H_
#define VOF_TESTING_CONFORMANCE_CHANNEL_PAIRS_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "backends/loopback/fabric_channel.h"
#include "backends/loopback/fabric_domain.h"
#include "testing/conformance/channel_pair.h"

namespace vof {

// One domain, as two channels of one process usually have.
struct FabricPairMaker : ChannelPromises {
  using Channel = FabricChannel;

  static absl::StatusOr<ChannelPair<FabricChannel>> Make() { return MakeOf({}, nullptr, {}); }

 protected:
  static ChannelPair<FabricChannel> MakeOf(const FabricDomainOptions& domain,
                                           std::shared_ptr<FabricDomain> domain_b,
                                           const FabricOptions& options) {
    auto domain_a = std::make_shared<FabricDomain>(domain);
    if (domain_b == nullptr) domain_b = domain_a;
    auto [a, b] = MakeFabricPair(domain_a.get(), domain_b.get(), options);
    return {domain_a, domain_b, std::make_unique<FabricChannel>(std::move(a)),
            std::make_unique<FabricChannel>(std::move(b))};
  }
};

// The least that an adapter may offer, addresses that count from 0, and a domain at each end.
struct SmallFabricPairMaker : FabricPairMaker {
  static absl::StatusOr<ChannelPair<FabricChannel>> Make() {
    const FabricDomainOptions domain{.addressing = FabricAddressing::kZeroBased};
    FabricOptions options;
    options.a.limits = {.max_message_bytes = 1000,
                        .inline_bytes = 64,
                        .max_local_segments = 1,
                        .send_depth = 2,
                        .has_immediate = false};
    options.b.limits = options.a.limits;
    return MakeOf(domain, std::make_shared<FabricDomain>(domain), options);
  }
};

// Everything comes late and the send queue is often full: as a busy network.
struct LateFabricPairMaker : FabricPairMaker {
  static absl::StatusOr<ChannelPair<FabricChannel>> Make() {
    FabricOptions options;
    options.a.faults = {.seed = 1,
                        .longest_effect_delay_turns = 5,
                        .longest_completion_delay_turns = 7,
                        .again_every_posts = 3};
    options.b.faults = options.a.faults;
    options.b.faults.seed = 2;
    return MakeOf({}, std::make_shared<FabricDomain>(), options);
  }
};

// Both ends take their receives from one queue.
struct SharedReceivesPairMaker : FabricPairMaker {
  static absl::StatusOr<ChannelPair<FabricChannel>> Make() {
    auto domain = std::make_shared<FabricDomain>();
    auto receives = std::make_shared<SharedReceiveQueue>(domain.get(), ReceiveQueueOptions{});
    FabricOptions options;
    options.a.receives = receives;
    options.b.receives = receives;
    auto [a, b] = MakeFabricPair(domain.get(), domain.get(), options);
    return ChannelPair<FabricChannel>{domain, domain, std::make_unique<FabricChannel>(std::move(a)),
                                      std::make_unique<FabricChannel>(std::move(b))};
  }
};

}  // namespace vof

#endif  // VOF_TESTING_CONFORMANCE_CHANNEL_PAIRS_H_
