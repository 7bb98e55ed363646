// SPDX-License-Identifier: Apache-2.0
//
// A whole world in one thread and virtual time: a target, initiators, strangers, a bad network and
// a bad fabric.
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

#include "core/wire/command.h"
#include "core/wire/connect_body.h"
#include "testing/sim/sim_context.h"
#include "testing/sim/sim_fabric.h"
#include "testing/sim/sim_hog.h"
#include "testing/sim/sim_memory.h"
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
  kHalf,      // a Connect that it never completes, or whose memory cannot be read
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
  void CheckInitiatorsGone();
  void Step();
  void PassTime(bool moved);
  bool HasWork() const;
  MonotonicTime NextEvent() const;
  void Act();
  void ActOnMemory();
  bool any_keyed() const;
  // --- Strangers (sim_world_strangers.cc) ---
  struct Stranger {
    StrangerKind kind = StrangerKind::kNoise;
    Dialect dialect = Dialect::kV5;
    Command connect;
    ConnectBody body;
    MonotonicTime leave_at = 0;
    SimStranger::OnEnd on_end;
  };
  void SendStranger();
  void SendKeyedStranger();
  Stranger MakeStranger();
  SimStranger::Bytes StreamBytesOf(const Stranger& stranger);
  void CheckRefused(const SimStranger::Bytes& answer);
  std::string Describe() const;

  SimContext context_;
  SimFabric fabric_;
  SimReactor initiators_;
  SimMemory memory_;  // of the initiators
  SimHog hog_;        // among them
  SimTarget target_;
  std::vector<std::unique_ptr<SimSession>> sessions_;
  std::vector<SimReactor*> reactors_;
  uint64_t steps_ = 0;
  uint32_t idle_steps_ = 0;
};

}  // namespace vof

#endif  // VOF_TESTING_SIM_SIM_WORLD_H_
