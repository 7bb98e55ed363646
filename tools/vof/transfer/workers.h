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
};

// Runs `work` on `num_threads` threads. The first error stops the others and is returned;
// kCancelled when `tick` stopped the work before it was done.
absl::Status RunWorkers(int num_threads, const std::function<absl::Status()>& work,
                        const WorkerControl& control);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TRANSFER_WORKERS_H_
