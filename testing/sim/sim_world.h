// SPDX-License-Identifier: Apache-2.0
//
// A whole world in one thread and virtual time: a target, initiators, strangers, a bad network.
//
//   SimWorld world(MakeSimPlan(seed), /*verbose=*/false);
//   std::string failure = world.Run();          // empty: everything held
//
// First chaos, then calm: then every session must finish its work within bounded virtual time, and
// nothing may be left of it at the target. The same seed gives the same run.
#ifndef VOF_TESTING_SIM_SIM_WORLD_H_
#define VOF_TESTING_SIM_SIM_WORLD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "testing/sim/sim_context.h"
#include "testing/sim/sim_reactor.h"
#include "testing/sim/sim_session.h"
#include "testing/sim/sim_stranger.h"
#include "testing/sim/sim_target.h"

namespace vof {

struct SimTotals {
  uint64_t steps = 0;
  uint64_t requests = 0;
  MonotonicTime virtual_time = 0;
};

enum class StrangerKind : uint8_t {
  kNoise,      // no Connect
  kVirtqueue,  // of somebody else's instance
  kNoDevice,
  kHalf,      // a Connect that it never completes
  kNamesake,  // the victim's names without its token: must not end the victim's session
};

class SimWorld {
 public:
  SimWorld(const SimPlan& plan, bool verbose);
  ~SimWorld();

  std::string Run();
  SimTotals totals() const;
  bool sabotaged() const { return context_.sabotaged; }  // the bug of the plan has happened
  const BugEffect& effect() const { return context_.effect; }

 private:
  void RunChaos();
  void RunCalm();
  void RunUntilGone();
  void Step();
  void PassTime(bool moved);
  bool HasWork() const;
  MonotonicTime NextEvent() const;
  void Act();
  void SendStranger();
  SimStranger::Bytes StrangerBytes(const SimSession& victim, StrangerKind* kind);
  void CheckRefused(const SimStranger::Bytes& answer);
  std::string Describe() const;

  SimContext context_;
  SimReactor initiators_;
  SimTarget target_;
  std::vector<std::unique_ptr<SimSession>> sessions_;
  std::vector<SimReactor*> reactors_;
  uint64_t steps_ = 0;
  uint32_t idle_steps_ = 0;
};

}  // namespace vof

#endif  // VOF_TESTING_SIM_SIM_WORLD_H_
