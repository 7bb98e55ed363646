// SPDX-License-Identifier: Apache-2.0
//
// Connections of the simulator, with the faults that the plan asks for.
//
//   SimLink link = MakeSimLink(&context, observer, "192.0.2.1");
//   target.Accept(link.pipe, std::move(link.target), honest);
//   reactor.Add(std::make_unique<SimConnection>(std::move(link.initiator), ...), link.pipe, ...);
#ifndef VOF_TESTING_SIM_SIM_NETWORK_H_
#define VOF_TESTING_SIM_SIM_NETWORK_H_

#include <memory>
#include <string>
#include <utility>

#include "backends/loopback/faults.h"
#include "core/runtime/stream_connection.h"
#include "testing/sim/sim_context.h"
#include "testing/sim/sim_pipe.h"

namespace vof {

using SimFaultyStream = FaultyStream<SimStream>;
using SimConnection = StreamConnection<SimFaultyStream>;

struct SimLink {
  std::shared_ptr<SimPipe> pipe;
  SimFaultyStream initiator;
  SimFaultyStream target;
};

inline FaultPlan DrawFaults(SimContext* context, bool may_cut) {
  FaultRandom& random = context->random;
  FaultPlan faults{.seed = random.Next(), .read = {}, .write = {}};
  faults.read = faults.write = context->plan.faults;
  if (context->calm) {  // slow, but whole
    faults.read.delay_per_mille = faults.write.delay_per_mille = 0;
  } else if (may_cut) {
    DirectionFaults& cut = random.Chance(500) ? faults.read : faults.write;
    cut.cut_after_bytes = random.Below(context->plan.longest_cut_bytes);
    cut.cut_kind = random.Chance(500) ? CutKind::kReset : CutKind::kEnd;
  }
  return faults;
}

inline SimLink MakeSimLink(SimContext* context, std::shared_ptr<PipeObserver> observer,
                           const std::string& initiator_address) {
  auto pipe = std::make_shared<SimPipe>(context->plan.pipe_bytes, std::move(observer));
  const auto clock = [context] { return context->now; };
  const bool cut = context->random.Chance(context->plan.cut_per_mille);
  const bool cut_at_initiator = context->random.Chance(500);
  const FaultPlan here = DrawFaults(context, cut && cut_at_initiator);
  const FaultPlan there = DrawFaults(context, cut && !cut_at_initiator);
  return {pipe, SimFaultyStream(SimStream(pipe, SimPipe::kInitiator, "192.0.2.99"), here, clock),
          SimFaultyStream(SimStream(pipe, SimPipe::kTarget, initiator_address), there, clock)};
}

}  // namespace vof

#endif  // VOF_TESTING_SIM_SIM_NETWORK_H_
