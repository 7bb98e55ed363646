// SPDX-License-Identifier: Apache-2.0
//
// Why a target's queue ended, and what it did until then.
//
//   const QueueEnd& end = link->queue->end();
//   Log(EndCauseName(end.cause), end.why);
//
// Plain values.
#ifndef VOF_CORE_ENGINE_QUEUE_END_H_
#define VOF_CORE_ENGINE_QUEUE_END_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vof {

enum class EndCause : uint8_t {
  kNone,           // it goes on
  kDisconnected,   // the initiator said that it leaves
  kPeerClosed,     // without saying so: `ref` has nothing else
  kBroken,         // the transport failed
  kProtocol,       // the initiator broke a rule
  kStalled,        // the initiator owed bytes, or did not read, for too long
  kSilent,         // no keepalive for too long
  kInstanceEnded,  // its control queue went, a newer session took over, or the device was removed
  kDevice,         // the device failed a request without an answer, or held one for too long
  kDrained,        // the target went down, everything was answered
  kStopped,        // the target cut it off
};
inline constexpr size_t kNumEndCauses = static_cast<size_t>(EndCause::kStopped) + 1;

// One word for counters: "disconnected".
std::string_view EndCauseName(EndCause cause);

struct QueueEnd {
  EndCause cause = EndCause::kNone;
  std::string why;  // a clause for people
};

// Of one virtqueue, or of many together. Requests that a device answers with an error of its own
// (a block status) count as answered.
struct QueueCounters {
  uint64_t requests = 0;   // completed by the device
  uint64_t failed = 0;     // of these: the device had no answer
  uint64_t out_bytes = 0;  // device-readable: written by the initiator
  uint64_t in_bytes = 0;   // used lengths: read by the initiator

  QueueCounters& operator+=(const QueueCounters& other) {
    requests += other.requests;
    failed += other.failed;
    out_bytes += other.out_bytes;
    in_bytes += other.in_bytes;
    return *this;
  }
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_QUEUE_END_H_
