// SPDX-License-Identifier: Apache-2.0
//
// The target of a simulated world: a directory with one disk, reactors, and what goes wrong there.
//
//   SimTarget target(&context, &fabric);
//   target.Accept(link.pipe, std::move(link.target), "192.0.2.1", SimPeer::kHonest);
//   target.Act();                 // a resize, a store that stands still, memory that is taken away
//   target.Calm();                // no more of that
//   target.CheckGone();           // nothing is left of any session
#ifndef VOF_TESTING_SIM_SIM_TARGET_H_
#define VOF_TESTING_SIM_SIM_TARGET_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/engine/target_connection.h"
#include "core/engine/target_directory.h"
#include "core/engine/target_endpoint.h"
#include "devices/blk/blk_device.h"
#include "devices/blk/testing/fake_store.h"
#include "testing/sim/sim_context.h"
#include "testing/sim/sim_fabric.h"
#include "testing/sim/sim_hog.h"
#include "testing/sim/sim_memory.h"
#include "testing/sim/sim_network.h"
#include "testing/sim/sim_reactor.h"
#include "testing/sim/sim_store.h"

namespace vof {

inline constexpr char kSimDisk[] = "disk";

enum class SimPeer : uint8_t {
  kStranger,  // may break the protocol
  kHonest,    // the connection must not end for breaking it
  kStrict,    // honest, and nothing is expected to go wrong
};

class SimTarget {
 public:
  SimTarget(SimContext* context, SimFabric* fabric);
  ~SimTarget();

  void Accept(SimLink* link, const std::string& address, SimPeer peer);
  void Accept(SimFabric::Pair* pair, const std::string& address, SimPeer peer);
  std::vector<std::unique_ptr<SimReactor>>& reactors() { return reactors_; }
  TargetDirectory& directory() { return directory_; }
  bool HasInstance(uint16_t id) const;

  void Act();
  void Resize();
  void Calm();
  void CheckGone();

 private:
  size_t ChooseReactor() { return context_->random.Below(reactors_.size()); }
  void Add(SimReactor* reactor, std::unique_ptr<Connection> connection, TargetEndpoint* endpoint,
           std::shared_ptr<SimWire> wire, SimPeer peer);
  void MakeDevice();
  void HoldStore(bool hold, bool stubborn);
  void Drain();

  SimContext* const context_;
  TargetDirectory directory_;
  std::shared_ptr<FakeStore> fake_store_;  // null: memory
  std::shared_ptr<StubbornStore> store_;
  std::shared_ptr<BlkDevice> device_;
  std::vector<std::unique_ptr<SimReactor>> reactors_;
  std::vector<std::unique_ptr<SimMemory>> memories_;  // of each reactor
  std::map<Connection*, TargetEndpoint*> endpoints_;
  SimHog hog_;
  PoolBuffer leaked_;  // by a bug of the plan
};

}  // namespace vof

#endif  // VOF_TESTING_SIM_SIM_TARGET_H_
