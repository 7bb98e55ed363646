// SPDX-License-Identifier: Apache-2.0
//
// What a seed means: sizes, limits, dialects, faults and how much of what happens.
//
//   const SimPlan plan = MakeSimPlan(/*seed=*/4711);
//
// Pure: the same seed gives the same plan on every machine.
#ifndef VOF_TESTING_SIM_SIM_PLAN_H_
#define VOF_TESTING_SIM_SIM_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "backends/loopback/faults.h"
#include "core/base/time.h"
#include "core/engine/target_options.h"
#include "core/wire/command.h"

namespace vof {

// Bugs put in on purpose, one of them, once: they show that the checkers see them.
enum class SimBug : uint8_t {
  kNone,
  kLostCompletion,     // the device never answers a request
  kDoubledCompletion,  // the initiator says twice that a request is done
  kCorruptedByte,      // a read gives a byte that was never there
  kLostWrite,          // a write is acknowledged, and was not made
  kLeakedBuffer,       // the target keeps memory of its pool
  kLostWakeUp,         // a connection of the target sleeps for ever
  // --- Of keyed transmission, at the target ---
  kEarlyCredit,      // a credit is given before the receive for it is posted
  kEarlyCompletion,  // a completion is sent before a store that belongs to it
  kEarlyReuse,       // a buffer is written to before it is reported
  kLateKey,          // a key is used after the request that showed it was answered
};

// Memory of an initiator's requests on the fabric.
enum class SimExposure : uint8_t {
  kNone,         // all of it goes through the pool
  kEachRequest,  // registered while the request lives
  kSome,         // of some requests
};

struct SessionPlan {
  Dialect dialect = Dialect::kV5;
  Transmission transmission = Transmission::kStream;
  SimExposure exposure = SimExposure::kNone;
  bool has_token = true;
  uint16_t queues = 1;
  uint16_t queue_size = 0;
  uint32_t depth = 4;  // requests that the workload keeps in flight on each queue
  Nanoseconds keepalive = 0;
  Nanoseconds io_timeout = 0;
  // When all is done and has settled it comes back and does it all again, and then nothing may
  // fail.
  bool returns = false;
};

// What the fabric does; see sim_fabric_link.h. Times are at most.
struct SimFabricPlan {
  Nanoseconds longest_effect_delay = 0;
  Nanoseconds longest_event_delay = 0;
  Nanoseconds longest_return_delay = 0;  // of a receive, until the adapter has it
  uint32_t early_per_mille = 0;          // sends and stores that may be reported before they arrive
  uint32_t again_per_mille = 0;          // posts refused without a reason
  uint32_t refusals_per_mille = 0;       // registrations
  int send_depth = 256;
  uint32_t inline_bytes = 64;
  uint64_t latest_cut = 100;  // after so many posts
};

struct SimPlan {
  uint64_t seed = 0;
  std::vector<SessionPlan> sessions;
  SimBug bug = SimBug::kNone;  // happens in the calm, when nothing else excuses its effects

  // --- Target ---
  int target_reactors = 1;
  size_t target_scratch_bytes = 65536;
  size_t initiator_scratch_bytes = 65536;
  TargetOptions target;
  bool memory_store = true;  // else one that is late, out of order, and fails
  uint32_t store_delay_reaps = 0;
  uint32_t store_failures_per_mille = 0;
  bool shareable = false;
  uint16_t device_queues = 1;
  uint16_t device_queue_size = 16;
  uint64_t sectors = 256;

  // --- Network ---
  size_t pipe_bytes = 65536;
  DirectionFaults faults;              // of each end and direction, but for cuts
  uint32_t cut_per_mille = 0;          // of the connections
  uint64_t longest_cut_bytes = 20000;  // where they are cut at the latest
  SimFabricPlan fabric;

  // --- What happens ---
  uint32_t chaos_requests = 100;  // of each session, before the faults stop
  uint32_t calm_requests = 30;    // after
  uint32_t chaos_per_mille = 0;   // events in 1000 steps
  uint32_t largest_sectors = 16;  // of a request
};

SimPlan MakeSimPlan(uint64_t seed);
// The same, but such that the bug has occasions, and a store that keeps its word otherwise.
SimPlan MakeSimPlanWithBug(uint64_t seed, SimBug bug);
// "lost-write" and so on; nothing for an unknown name.
std::optional<SimBug> SimBugNamed(std::string_view name);

}  // namespace vof

#endif  // VOF_TESTING_SIM_SIM_PLAN_H_
