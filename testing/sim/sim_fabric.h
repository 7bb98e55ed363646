// SPDX-License-Identifier: Apache-2.0
//
// The fabric of a simulated world: an adapter at each side, and the connections between them.
//
//   SimFabric fabric(&context);
//   SimFabric::Pair pair = fabric.Connect(observer, "192.0.2.1", /*hostile=*/false);
//   fabric.Run();                              // all that is due by now
//   next = fabric.NextTime();
//
// Outlives the engines, whose memory its posts name.
#ifndef VOF_TESTING_SIM_SIM_FABRIC_H_
#define VOF_TESTING_SIM_SIM_FABRIC_H_

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "testing/sim/sim_channel.h"
#include "testing/sim/sim_context.h"
#include "testing/sim/sim_domain.h"
#include "testing/sim/sim_fabric_link.h"

namespace vof {

class SimFabric {
 public:
  struct Pair {
    std::shared_ptr<SimFabricLink> link;
    std::unique_ptr<SimChannel> initiator;
    std::unique_ptr<SimChannel> target;
  };

  explicit SimFabric(SimContext* context)
      : context_(context), initiators_(context, "initiator"), target_(context, "target") {}

  SimDomain& initiator_domain() { return initiators_; }
  SimDomain& target_domain() { return target_; }

  // `hostile`: the initiator breaks the rules, and the target may find its keys wrong.
  Pair Connect(std::shared_ptr<FabricObserver> observer, const std::string& initiator_address,
               bool hostile) {
    auto link = std::make_shared<SimFabricLink>(context_, std::array{&initiators_, &target_},
                                                std::move(observer), hostile);
    links_.push_back(link);
    return {link, std::make_unique<SimChannel>(context_, link, SimWire::kInitiator, "192.0.2.99"),
            std::make_unique<SimChannel>(context_, link, SimWire::kTarget, initiator_address)};
  }

  void Run() {
    for (const auto& link : links_) link->Run();
    std::erase_if(links_, [](const auto& link) { return link->over(); });
  }
  MonotonicTime NextTime() const {
    MonotonicTime next = kInfiniteFuture;
    for (const auto& link : links_) next = std::min(next, link->NextTime());
    return next;
  }

 private:
  SimContext* const context_;
  SimDomain initiators_, target_;
  std::vector<std::shared_ptr<SimFabricLink>> links_;
};

}  // namespace vof

#endif  // VOF_TESTING_SIM_SIM_FABRIC_H_
