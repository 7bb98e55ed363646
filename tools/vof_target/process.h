// SPDX-License-Identifier: Apache-2.0
//
// What a serving process sets up once, before it has other threads.
//
//   StopSignals stop;       // SIGTERM, SIGINT, SIGHUP are held back from here on, in every thread
//   RaiseDescriptorLimit();
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

  // Blocks the calling thread until SIGTERM, SIGINT or SIGHUP arrives (or has arrived since the
  // constructor ran) and returns its number; nothing when none has come within `limit`. A SIGHUP
  // that was ignored when this was made (`nohup`) stays so.
  std::optional<int> WaitFor(Nanoseconds limit);
  // From now on SIGTERM or SIGINT ends the process with ExitCode::kFailed and a line on standard
  // error, without clean-up; one that comes within a quarter of a second is the first one again.
  // Called by the thread that made this one; others hold signals back.
  void ExitAtOnceOnTheNext();
  // Nothing is left to be cut short: signals are held back again.
  void IgnoreFurther();

 private:
  sigset_t signals_;
};

// Each connection takes a descriptor: raises the soft limit to the hard one. Returns the limit that
// holds.
uint64_t RaiseDescriptorLimit();

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TARGET_PROCESS_H_
