// SPDX-License-Identifier: Apache-2.0
//
// What all parts of a simulated world share: time, randomness, the first failure, the log.
//
//   if (in_use_bytes != 0) context.Fail("the pool is not empty");
//   context.Note("session 1 connects");                   // printed with --verbose
#ifndef VOF_TESTING_SIM_SIM_CONTEXT_H_
#define VOF_TESTING_SIM_SIM_CONTEXT_H_

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "backends/loopback/faults.h"
#include "core/base/time.h"
#include "testing/sim/bug_effect.h"
#include "testing/sim/disk_model.h"
#include "testing/sim/sim_plan.h"
#include "testing/sim/sim_wire.h"

namespace vof {

struct SimContext {
  SimContext(const SimPlan& p, bool v)
      : plan(p),
        verbose(v),
        random(p.seed),
        fabric_random(p.seed * 5 + 3),
        model(p.sectors),
        effect(p.sectors) {}

  void Fail(const std::string& what) {
    Note("FAILED: " + what);
    if (failure.empty()) failure = what;
  }
  bool failed() const { return !failure.empty(); }
  void Note(const std::string& what) const {
    if (verbose)
      std::printf("%14.6f ms  %s\n", static_cast<double>(now - start) / 1e6, what.c_str());
  }

  // Whether the bug of the plan is to happen here and now: at one of its first occasions, once.
  bool Sabotage(SimBug bug) {
    if (plan.bug != bug || !calm || sabotaged || ++num_occasions <= plan.seed % 4) return false;
    Note("SABOTAGE");
    return sabotaged = true;
  }

  static constexpr Nanoseconds kLongestSleep = kNanosecondsPerSecond / 2;
  static constexpr MonotonicTime start = kNanosecondsPerSecond;

  const SimPlan plan;
  const bool verbose;
  FaultRandom random;
  FaultRandom fabric_random;  // of the fabric, so that it changes nothing for streams
  DiskModel model;
  BugEffect effect;  // of the bug of the plan
  MonotonicTime now = start;
  // How much of the time everybody slept. Without faults nothing waits for longer than
  // kLongestSleep of it: that would be a wake-up that was forgotten, even if a timer makes up for
  // it.
  Nanoseconds slept = 0;
  // No faults from here on: everything must succeed, and soon.
  bool calm = false;
  uint64_t capacity_sectors = 0;  // of the device now
  uint64_t num_resizes = 0;
  uint64_t num_requests = 0;
  // Connections that the network swallows; a real one would find out in the end (TCP keepalive).
  std::vector<std::shared_ptr<SimWire>> blackholes;
  std::string failure;
  uint64_t num_occasions = 0;  // for the bug of the plan
  bool sabotaged = false;
};

}  // namespace vof

#endif  // VOF_TESTING_SIM_SIM_CONTEXT_H_
