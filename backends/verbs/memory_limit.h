// SPDX-License-Identifier: Apache-2.0
//
// What the kernel lets this process pin for an RDMA device, and how to say that it is not enough.
//
//   MemoryLimit limit = ReadMemoryLimit();
//   if (!limit.bypassed) log << limit.limit_bytes - limit.pinned_bytes << " bytes may be pinned";
#ifndef VOF_BACKENDS_VERBS_MEMORY_LIMIT_H_
#define VOF_BACKENDS_VERBS_MEMORY_LIMIT_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace vof {

struct MemoryLimit {
  uint64_t limit_bytes = 0;   // RLIMIT_MEMLOCK
  uint64_t pinned_bytes = 0;  // counted against it
  bool bypassed = false;      // no limit, or CAP_IPC_LOCK
};

MemoryLimit ReadMemoryLimit();
// The same out of the text of /proc/self/status.
MemoryLimit ParseMemoryLimit(uint64_t limit_bytes, std::string_view process_status);

// Why `needed_bytes` more cannot be pinned and what to do.
std::string DescribeMemoryShortage(const MemoryLimit& limit, uint64_t needed_bytes);

}  // namespace vof

#endif  // VOF_BACKENDS_VERBS_MEMORY_LIMIT_H_
