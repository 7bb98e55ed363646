// SPDX-License-Identifier: Apache-2.0
//
// Lists of CPUs as the kernel writes them.
//
//   ParseCpuList("0-3,6")   -> {0, 1, 2, 3, 6}
//   FormatCpuList({0, 1})   -> "0-1"
//
// Pure, but for the last two; any thread.
#ifndef VOF_TOOLS_CONFIG_CPU_LIST_H_
#define VOF_TOOLS_CONFIG_CPU_LIST_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vof {

inline constexpr uint32_t kMaxCpu = 4095;

// Keeps the order that was written. kInvalidArgument for a CPU named twice, a range that runs
// backwards or a number above kMaxCpu.
absl::StatusOr<std::vector<uint32_t>> ParseCpuList(std::string_view text);
std::string FormatCpuList(const std::vector<uint32_t>& cpus);

// How many CPUs this process may run on (its affinity mask, containers and taskset included); at
// least 1.
uint32_t UsableCpus();
// kInvalidArgument for the first of `cpus` that this process may not run on.
absl::Status CheckUsable(const std::vector<uint32_t>& cpus);

}  // namespace vof

#endif  // VOF_TOOLS_CONFIG_CPU_LIST_H_
