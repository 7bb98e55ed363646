// SPDX-License-Identifier: Apache-2.0
//
// The same work on several threads until all are done or one fails, watched by the caller.
//
//   absl::Status result = RunWorkers(
//       16, [&] { return PullWorkUntilThereIsNone(); },
//       {.stop = [&] { source.Stop(); }, .tick = [&] { return !interrupted; }});
#ifndef VOF_TOOLS_VOF_TRANSFER_WORKERS_H_
#define VOF_TOOLS_VOF_TRANSFER_WORKERS_H_

#include <functional>

#include "absl/status/status.h"

namespace vof {

struct WorkerControl {
  // Makes the workers return soon. Called from any thread, perhaps more than once.
  std::function<void()> stop;
  // Called every 200 ms on the caller's thread (may be empty); false stops the work.
  std::function<bool()> tick;
  // Called once on the caller's thread (may be empty) when `tick` has stopped the work and some of
  // it does not end: on so many threads.
  std::function<void(int num_running)> on_slow_stop = {};
};

// Runs `work` on `num_threads` threads. The first error stops the others and is returned;
// kCancelled when `tick` stopped the work before it was done, also if some of it then failed.
absl::Status RunWorkers(int num_threads, const std::function<absl::Status()>& work,
                        const WorkerControl& control);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TRANSFER_WORKERS_H_
