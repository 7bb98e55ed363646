// SPDX-License-Identifier: Apache-2.0
//
// How a TargetServer (target.h) runs, and who is told of what happens to its sessions.
//
//   TargetServerOptions options;
//   options.reactors = 2;
//   options.observer = [](const TargetEvent& event) { Log(DescribeTargetEvent(event)); };
#ifndef VOF_CORE_RUNTIME_TARGET_OPTIONS_H_
#define VOF_CORE_RUNTIME_TARGET_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/limits.h"
#include "core/base/time.h"
#include "core/engine/target_events.h"
#include "core/engine/target_options.h"

namespace vof {

inline constexpr int kMaxReactors = 256;

struct TargetServerOptions {
  int reactors = 1;       // 1..kMaxReactors
  std::vector<int> cpus;  // reactor i runs on cpus[i % size]; empty: anywhere
  bool busy_poll = false;
  Nanoseconds spin = 0;
  size_t pool_bytes = kDefaultPoolBytes;  // of each reactor
  // Memory that devices lend (a memory disk's) is registered with fabrics up to here, all devices
  // together; an adapter pins it, sparse as it may be. What is beyond is copied. 0: all is.
  uint64_t most_lent_bytes = kDefaultLentBytes;
  TargetOptions limits;
  TargetObserver observer = nullptr;  // may be empty; not called after Stop
  // How long Stop waits for devices to complete what closed connections hold.
  Nanoseconds device_timeout = kDeviceTimeout;
};

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_TARGET_OPTIONS_H_
