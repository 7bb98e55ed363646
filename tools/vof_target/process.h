// SPDX-License-Identifier: Apache-2.0
//
// What a serving process sets up once, before it has other threads.
//
//   StopSignals stop;                    // SIGTERM and SIGINT are held back from here on, in every
//   thread RaiseDescriptorLimit();
//   ...
//   while (!(signal = stop.WaitFor(limit))) ...      // other things to do now and then
//   stop.ExitAtOnceOnTheNext();          // the drain that follows can be cut short
#ifndef VOF_TOOLS_VOF_TARGET_PROCESS_H_
#define VOF_TOOLS_VOF_TARGET_PROCESS_H_

#include <signal.h>

#include <cstdint>
#include <optional>

#include "core/base/time.h"

namespace vof {

// One per process, made in main() before the first thread, which inherits what it blocks.
class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Blocks the calling thread until SIGTERM or SIGINT arrives (or has arrived since the constructor
  // ran) and returns its number; nothing when none has come within `limit`.
  std::optional<int> WaitFor(Nanoseconds limit);
  // From now on such a signal ends the process with ExitCode::kFailed, without clean-up.
  void ExitAtOnceOnTheNext();

 private:
  sigset_t signals_;
};

// A peer that goes away makes a write fail, it does not end the process.
void IgnoreBrokenPipes();

// Each connection takes a descriptor: raises the soft limit to the hard one. Returns the limit that
// holds.
uint64_t RaiseDescriptorLimit();

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TARGET_PROCESS_H_
