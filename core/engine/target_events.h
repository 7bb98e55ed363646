// SPDX-License-Identifier: Apache-2.0
//
// What happens to the sessions of a target, for whoever logs or counts it.
//
//   connection.set_observer([](const TargetEvent& event) {
//     Log(LevelOf(event.kind), DescribeTargetEvent(event));
//   });
//
// Control path only: nothing is told of single requests. Names and addresses are as the peer sent
// them, so they may hold anything; DescribeTargetEvent makes one safe line of them.
#ifndef VOF_CORE_ENGINE_TARGET_EVENTS_H_
#define VOF_CORE_ENGINE_TARGET_EVENTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/engine/queue_end.h"
#include "core/wire/command.h"

namespace vof {

enum class TargetEventKind : uint8_t {
  kSessionAccepted,
  kSessionEnded,
  kSessionRefused,    // answered with `cause`
  kQueueAccepted,     // a virtqueue of a session
  kQueueEnded,        // that one only, or with its session
  kQueueRefused,      // answered with `cause`
  kQueueHeld,         // a closed one whose device keeps its requests; it lives on until then
  kConnectionUnused,  // ended before it became a queue or was refused; `why` says more
  kResultsCopied,     // a fabric does not take the memory that a device lends; `why`. Told once
};

struct TargetEvent {
  TargetEventKind kind = TargetEventKind::kConnectionUnused;
  Dialect dialect = Dialect::kV5;
  uint16_t instance_id = kControlInstanceId;  // of the session, once it has one
  uint16_t queue_index = 0;                   // of a virtqueue
  Cause cause = Cause::kOk;                   // of a refusal: the true one, even where the wire
                                              // has one number for several; kLimit also of a
                                              // connection too many, which gets no answer
  EndCause end = EndCause::kNone;             // of an end
  std::string peer;                           // "192.0.2.7:40000"
  std::string initiator_name, target_name;    // empty: it did not say
  std::string why;                            // a clause for people; never empty for ends, refusals
};

// Called on reactor threads, several at once; must not block.
using TargetObserver = std::function<void(const TargetEvent&)>;

// "session 3 of "disk0" accepted: v5, from "vqn.host" at 192.0.2.7:40000". No control characters.
std::string DescribeTargetEvent(const TargetEvent& event);
// Why a Connect was refused, as the target knows it: unlike CauseText it never has to guess.
std::string_view RefusalText(Cause cause);

}  // namespace vof

#endif  // VOF_CORE_ENGINE_TARGET_EVENTS_H_
