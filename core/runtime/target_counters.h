// SPDX-License-Identifier: Apache-2.0
//
// What a target has done since it started, by cause.
//
//   const TargetCounters counters = server->Counters();
//   counters.sessions_accepted; counters.refused(Cause::kExclusiveUse); counters.io.requests;
//
// Plain values. Each reactor has its own, so counting costs an addition and no atomics; they are
// added up when somebody asks.
#ifndef VOF_CORE_RUNTIME_TARGET_COUNTERS_H_
#define VOF_CORE_RUNTIME_TARGET_COUNTERS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/engine/queue_end.h"
#include "core/engine/target_events.h"
#include "core/wire/command.h"

namespace vof {

struct TargetCounters {
  static constexpr size_t kNumCauses = static_cast<size_t>(Cause::kUnknown) + 1;

  uint64_t sessions_accepted = 0;
  uint64_t queues_accepted = 0;
  uint64_t queues_ended = 0;
  uint64_t queues_held = 0;         // see TargetEventKind::kQueueHeld
  uint64_t connections_unused = 0;  // ended without becoming a queue or being refused
  std::array<uint64_t, kNumCauses> sessions_refused = {};
  std::array<uint64_t, kNumCauses> queues_refused = {};
  std::array<uint64_t, kNumEndCauses> sessions_ended = {};
  QueueCounters io;  // of queues that live and that have ended

  uint64_t refused(Cause cause) const { return sessions_refused[static_cast<size_t>(cause)]; }
  uint64_t queues_refused_for(Cause cause) const {
    return queues_refused[static_cast<size_t>(cause)];
  }
  uint64_t ended(EndCause cause) const { return sessions_ended[static_cast<size_t>(cause)]; }

  void Count(const TargetEvent& event);
  TargetCounters& operator+=(const TargetCounters& other);
};

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_TARGET_COUNTERS_H_
