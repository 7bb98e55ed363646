// SPDX-License-Identifier: Apache-2.0
//
// A target with one memory disk inside this process, for `vof bench loop:///NAME`: what the stack
// costs without a network.
//
//   auto target = StartLoopTarget(uri, {.size_bytes = 256 << 20}, &registry);
//   ... connect to uri ...                      // while `target` lives
#ifndef VOF_TOOLS_VOF_BENCH_LOOP_TARGET_H_
#define VOF_TOOLS_VOF_BENCH_LOOP_TARGET_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "core/runtime/backend.h"
#include "core/runtime/target.h"
#include "core/runtime/uri.h"

namespace vof {

struct LoopTargetOptions {
  uint64_t size_bytes = 256u << 20;
  uint16_t queues = 1;
  bool busy_poll = false;
  Nanoseconds spin = 0;
};

// All of the disk is filled before this returns. kInvalidArgument: it is larger than the memory of
// the machine.
absl::StatusOr<std::unique_ptr<TargetServer>> StartLoopTarget(const Uri& uri,
                                                              const LoopTargetOptions& options,
                                                              BackendRegistry* registry);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_BENCH_LOOP_TARGET_H_
