// SPDX-License-Identifier: Apache-2.0
//
// How much memory the machine has: who takes more is ended by the kernel when it is filled.
//
//   if (size_bytes > MachineMemoryBytes()) return absl::InvalidArgumentError(...);
#ifndef VOF_TOOLS_COMMON_MACHINE_MEMORY_H_
#define VOF_TOOLS_COMMON_MACHINE_MEMORY_H_

#include <unistd.h>

#include <cstdint>

namespace vof {

// MemTotal; UINT64_MAX when the system does not say.
inline uint64_t MachineMemoryBytes() {
  const auto pages = sysconf(_SC_PHYS_PAGES);
  const auto page_bytes = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return UINT64_MAX;
  return static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes);
}

}  // namespace vof

#endif  // VOF_TOOLS_COMMON_MACHINE_MEMORY_H_
