// SPDX-License-Identifier: Apache-2.0
#include "testing/sim/sim_plan.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/limits.h"

namespace vof {
namespace {

template <typename T, size_t N>
T OneOf(FaultRandom& random, const std::array<T, N>& choices) {
  return choices[random.Below(N)];
}

SessionPlan MakeSession(FaultRandom& random, const SimPlan& plan) {
  SessionPlan session;
  session.dialect = random.Chance(350) ? Dialect::kRef : Dialect::kV5;
  session.has_token = random.Chance(850);
  session.queues = static_cast<uint16_t>(1 + random.Below(plan.device_queues));
  session.queue_size = OneOf<uint16_t>(random, std::array<uint16_t, 4>{0, 0, 2, 8});
  session.depth = static_cast<uint32_t>(1 + random.Below(random.Chance(500) ? 4 : 24));
  if (random.Chance(400)) session.keepalive = Milliseconds(100 + 100 * random.Below(10));
  if (random.Chance(400)) session.io_timeout = Milliseconds(20 + random.Below(2000));
  return session;
}

void PlanTarget(FaultRandom& random, SimPlan* plan) {
  plan->target_reactors = random.Chance(400) ? 2 : 1;
  plan->target_scratch_bytes =
      OneOf<size_t>(random, std::array<size_t, 4>{256, 4096, 16384, 65536});
  plan->initiator_scratch_bytes =
      OneOf<size_t>(random, std::array<size_t, 4>{64, 4096, 16384, 65536});
  plan->memory_store = random.Chance(500);
  plan->store_delay_reaps = static_cast<uint32_t>(random.Below(12));
  if (random.Chance(500)) plan->store_failures_per_mille = 50;
  plan->device_queues = static_cast<uint16_t>(1 + random.Below(4));
  plan->device_queue_size = OneOf<uint16_t>(random, std::array<uint16_t, 7>{1, 2, 3, 4, 8, 16, 64});
  plan->sectors = 64 + 8 * random.Below(49);
  TargetOptions& target = plan->target;
  if (random.Chance(300)) target.transport_features &= ~transport_feature::kCredit;
  if (random.Chance(300)) target.transport_features &= ~transport_feature::kNumQueues;
  if (random.Chance(500)) target.max_session_bytes = 512 << random.Below(10);
  if (random.Chance(300)) target.handshake_timeout = kNanosecondsPerSecond;
  target.ref_offers_version_1 = random.Chance(300);
}

void PlanNetwork(FaultRandom& random, SimPlan* plan) {
  plan->pipe_bytes = OneOf<size_t>(random, std::array<size_t, 5>{64, 500, 4096, 65536, 65536});
  DirectionFaults& faults = plan->faults;
  if (random.Chance(500)) faults.short_per_mille = static_cast<uint32_t>(random.Below(1000));
  if (random.Chance(120)) faults.largest_piece_bytes = 1 + random.Below(64);
  if (random.Chance(300)) faults.again_per_mille = static_cast<uint32_t>(random.Below(500));
  if (random.Chance(300)) {
    faults.delay_per_mille = static_cast<uint32_t>(random.Below(200));
    faults.longest_delay = Milliseconds(1 + random.Below(20));
  }
  if (random.Chance(500)) plan->cut_per_mille = static_cast<uint32_t>(random.Below(600));
  plan->longest_cut_bytes = OneOf<uint64_t>(random, std::array<uint64_t, 3>{100, 3000, 60000});
}

void PlanFabric(FaultRandom& random, SimPlan* plan) {
  const auto delay = [&random] {
    return Nanoseconds{1000} * OneOf<int>(random, std::array<int, 6>{0, 0, 10, 50, 500, 10000});
  };
  SimFabricPlan& fabric = plan->fabric;
  fabric.longest_effect_delay = delay();
  fabric.longest_event_delay = delay();
  fabric.longest_return_delay = delay();
  if (random.Chance(500)) fabric.early_per_mille = static_cast<uint32_t>(random.Below(1000));
  if (random.Chance(300)) fabric.again_per_mille = static_cast<uint32_t>(random.Below(500));
  if (random.Chance(400)) fabric.refusals_per_mille = static_cast<uint32_t>(random.Below(500));
  fabric.send_depth = OneOf<int>(random, std::array<int, 5>{1, 2, 16, 256, 256});
  fabric.inline_bytes = OneOf<uint32_t>(random, std::array<uint32_t, 3>{64, 64, 256});
  fabric.latest_cut = OneOf<uint64_t>(random, std::array<uint64_t, 3>{5, 100, 1000});
}

// Of every three seeds one is for streams alone, one for the fabric alone, one for both.
void PlanTransmission(SimPlan* plan) {
  if (plan->seed % 3 == 0) return;
  FaultRandom random(plan->seed * 7 + 2);
  PlanFabric(random, plan);
  static constexpr std::array<uint32_t, 7> kInlineBytes{
      0, 1, 17, 64, 529, 4096, kDefaultInlineBytes};
  TargetOptions& target = plan->target;
  if (random.Chance(250)) target.transport_features &= ~transport_feature::kInline;
  if (random.Chance(700)) target.inline_request_bytes = OneOf(random, kInlineBytes);
  if (random.Chance(700)) target.inline_completion_bytes = OneOf(random, kInlineBytes);
  for (SessionPlan& session : plan->sessions) {
    if (plan->seed % 3 == 2 && random.Chance(500)) continue;
    session.transmission = Transmission::kKeyed;
    session.exposure = static_cast<SimExposure>(random.Below(3));
  }
}

}  // namespace

SimPlan MakeSimPlan(uint64_t seed) {
  FaultRandom random(seed * 3 + 1);
  SimPlan plan;
  plan.seed = seed;
  PlanTarget(random, &plan);
  PlanNetwork(random, &plan);
  // Tiny pieces are slow going: less of it.
  const bool slow = plan.faults.largest_piece_bytes < 64 || plan.pipe_bytes < 500;
  plan.largest_sectors = slow ? 4 : random.Chance(300) ? 96 : 16;
  plan.largest_sectors =
      std::min<uint32_t>(plan.largest_sectors, static_cast<uint32_t>(plan.sectors / 2));
  plan.chaos_requests = static_cast<uint32_t>(20 + random.Below(slow ? 40 : 120));
  plan.calm_requests = 20;
  if (random.Chance(800)) plan.chaos_per_mille = static_cast<uint32_t>(1 + random.Below(30));
  const size_t sessions = 1 + random.Below(3);
  plan.shareable = random.Chance(sessions > 1 ? 850 : 300);
  for (size_t i = 0; i < sessions; ++i) plan.sessions.push_back(MakeSession(random, plan));
  const bool any_ref = std::any_of(plan.sessions.begin(), plan.sessions.end(),
                                   [](const auto& s) { return s.dialect == Dialect::kRef; });
  if (!any_ref && random.Chance(250)) {  // `ref` has no way to say them
    plan.target.max_out_bytes = plan.target.max_in_bytes = 4096 + 17;
  }
  for (SessionPlan& session : plan.sessions) session.returns = random.Chance(250);
  plan.target.max_instances = static_cast<uint32_t>(sessions + 1 + random.Below(3));
  PlanTransmission(&plan);
  return plan;
}

SimPlan MakeSimPlanWithBug(uint64_t seed, SimBug bug) {
  SimPlan plan = MakeSimPlan(seed);
  plan.bug = bug;
  if (bug == SimBug::kNone) return plan;
  plan.memory_store = false;
  plan.store_failures_per_mille = 0;
  if (bug == SimBug::kLostWakeUp) {  // happens to sessions that come back
    for (SessionPlan& session : plan.sessions) session.returns = true;
  }
  return plan;
}

std::optional<SimBug> SimBugNamed(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, SimBug>, 10> kNames = {{
      {"lost-completion", SimBug::kLostCompletion},
      {"doubled-completion", SimBug::kDoubledCompletion},
      {"corrupted-byte", SimBug::kCorruptedByte},
      {"lost-write", SimBug::kLostWrite},
      {"leaked-buffer", SimBug::kLeakedBuffer},
      {"lost-wake-up", SimBug::kLostWakeUp},
      {"early-credit", SimBug::kEarlyCredit},
      {"early-completion", SimBug::kEarlyCompletion},
      {"early-reuse", SimBug::kEarlyReuse},
      {"late-key", SimBug::kLateKey},
  }};
  for (const auto& [known, bug] : kNames) {
    if (known == name) return bug;
  }
  return std::nullopt;
}

}  // namespace vof
