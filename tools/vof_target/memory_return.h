// SPDX-License-Identifier: Apache-2.0
//
// Gives memory back to the system when connections have ended.
//
//   MemoryReturn memory;
//   while (!stop.WaitFor(MemoryReturn::kInterval)) memory.Look(server.get());
//
// A connection takes about 80 KiB of the heap at a queue size of 1024. Once freed it stays with the
// process: the heap of another thread than the first is only trimmed when asked to, and pools trim
// themselves only while buffers return. One thread: that of main, which has nothing else to do.
#ifndef VOF_TOOLS_VOF_TARGET_MEMORY_RETURN_H_
#define VOF_TOOLS_VOF_TARGET_MEMORY_RETURN_H_

#include <cstdint>

#include "core/base/time.h"
#include "core/runtime/target.h"

namespace vof {

// When it is worth it: at a look that finds that connections have ended since the one before, and
// at the look after that, for a pool gives back only what nobody has used between two of them.
class ReturnSchedule {
 public:
  // `num_ended`: connections, since the start. True: now.
  bool IsDue(uint64_t num_ended) {
    if (num_ended != seen_) looks_left_ = 2;
    seen_ = num_ended;
    if (looks_left_ == 0) return false;
    --looks_left_;
    return true;
  }

 private:
  uint64_t seen_ = 0;
  int looks_left_ = 0;
};

class MemoryReturn {
 public:
  // Bounds what it costs a target with many short sessions: 0.2 ms for each MiB of free heap,
  // during which connections that come or go may wait.
  static constexpr Nanoseconds kInterval = 5 * kNanosecondsPerSecond;

  void Look(TargetServer* server);

 private:
  ReturnSchedule schedule_;
};

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TARGET_MEMORY_RETURN_H_
