// SPDX-License-Identifier: Apache-2.0
//
// What a target tells its administrator: sessions that come, go and are refused, and disks that
// fail. Lines are rate-limited, so that no peer
// and no disk can fill the log, and whatever a peer chose is escaped.
//
//   options.observer = MakeSessionLog();
//   ...
//   LogSummary(server->Counters());
//
// Any thread.
#ifndef VOF_TOOLS_VOF_TARGET_EVENT_LOG_H_
#define VOF_TOOLS_VOF_TARGET_EVENT_LOG_H_

#include <functional>
#include <string_view>

#include "absl/status/status.h"
#include "core/engine/target_events.h"
#include "core/runtime/target_counters.h"
#include "devices/blk/store_error.h"

namespace vof {

// Accepted, ended and refused sessions, refused queues and those that end by a fault at `info`,
// requests that a device holds at `warn`, the rest at `debug`. Who is turned away for a limit on
// sessions or connections: at `warn`, a line now and then while it lasts.
TargetObserver MakeSessionLog();
// Failed operations of the disks, at `error`; each disk has a limit of its own.
std::function<void(std::string_view device, const StoreError& error)> MakeDiskLog();
// A file that io_uring cannot serve here, at `warn`.
void LogPlainCalls(std::string_view device, const absl::Status& why);
// What keeps listeners from accepting, at `warn`: a line now and then while it lasts.
std::function<void(std::string_view line)> MakeListenerLog();
// The counters as one line at `info`: the only place where what was left out still counts.
void LogSummary(const TargetCounters& counters);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TARGET_EVENT_LOG_H_
