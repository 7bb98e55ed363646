// SPDX-License-Identifier: Apache-2.0
//
// Whether a configuration asks for more memory than the machine has. Memory disks and pools are not
// touched before they are used: the start succeeds, and the kernel kills the target when they fill.
//
//   const std::string warning = MemoryWarning(config, MachineMemoryBytes());
//   if (!warning.empty()) spdlog::warn(warning);
#ifndef VOF_TOOLS_VOF_TARGET_MEMORY_DEMAND_H_
#define VOF_TOOLS_VOF_TARGET_MEMORY_DEMAND_H_

#include <cstdint>
#include <string>

#include "tools/config/target_config.h"

namespace vof {

// Of a configuration that has been checked; empty when its memory disks and pools fit.
std::string MemoryWarning(const TargetConfig& config, uint64_t machine_bytes);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TARGET_MEMORY_DEMAND_H_
