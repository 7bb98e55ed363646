// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/target_counters.h"

namespace vof {
namespace {

template <size_t kSize>
void AddEach(std::array<uint64_t, kSize>* to, const std::array<uint64_t, kSize>& from) {
  for (size_t i = 0; i < kSize; ++i) (*to)[i] += from[i];
}

}  // namespace

void TargetCounters::Count(const TargetEvent& event) {
  switch (event.kind) {
    case TargetEventKind::kSessionAccepted:
      ++sessions_accepted;
      break;
    case TargetEventKind::kSessionEnded:
      ++sessions_ended[static_cast<size_t>(event.end)];
      break;
    case TargetEventKind::kSessionRefused:
      ++sessions_refused[static_cast<size_t>(event.cause)];
      break;
    case TargetEventKind::kQueueAccepted:
      ++queues_accepted;
      break;
    case TargetEventKind::kQueueEnded:
      ++queues_ended;
      break;
    case TargetEventKind::kQueueRefused:
      ++queues_refused[static_cast<size_t>(event.cause)];
      break;
    case TargetEventKind::kQueueHeld:
      ++queues_held;
      break;
    case TargetEventKind::kConnectionUnused:
      ++connections_unused;
      break;
    case TargetEventKind::kResultsCopied:
      break;
  }
}

TargetCounters& TargetCounters::operator+=(const TargetCounters& other) {
  sessions_accepted += other.sessions_accepted;
  queues_accepted += other.queues_accepted;
  queues_ended += other.queues_ended;
  queues_held += other.queues_held;
  connections_unused += other.connections_unused;
  AddEach(&sessions_refused, other.sessions_refused);
  AddEach(&queues_refused, other.queues_refused);
  AddEach(&sessions_ended, other.sessions_ended);
  io += other.io;
  return *this;
}

}  // namespace vof
