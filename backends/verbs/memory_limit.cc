// SPDX-License-Identifier: Apache-2.0
#include "backends/verbs/memory_limit.h"

#include <linux/capability.h>
#include <sys/resource.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"

namespace vof {
namespace {

constexpr uint64_t kBytesPerKilobyte = 1024;

// The number behind "Name:" in /proc/self/status; 0 when there is none.
uint64_t Field(std::string_view status, std::string_view name, int base) {
  const size_t at = status.find(name);
  if (at == std::string_view::npos) return 0;
  std::string_view rest = status.substr(at + name.size());
  const size_t digits = rest.find_first_not_of(" \t");
  if (digits == std::string_view::npos) return 0;
  rest.remove_prefix(digits);
  uint64_t value = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), value, base);
  return value;
}

}  // namespace

MemoryLimit ParseMemoryLimit(uint64_t limit_bytes, std::string_view process_status) {
  MemoryLimit limit;
  limit.limit_bytes = limit_bytes;
  // What devices pin is counted apart from what mlock does.
  limit.pinned_bytes = Field(process_status, "\nVmPin:", 10) * kBytesPerKilobyte;
  const uint64_t capabilities = Field(process_status, "\nCapEff:", 16);
  limit.bypassed = limit_bytes == RLIM_INFINITY || (capabilities >> CAP_IPC_LOCK & 1) != 0;
  return limit;
}

MemoryLimit ReadMemoryLimit() {
  rlimit limit = {};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  std::ifstream file("/proc/self/status");
  const std::string status((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
  return ParseMemoryLimit(limit.rlim_cur, status);
}

std::string DescribeMemoryShortage(const MemoryLimit& limit, uint64_t needed_bytes) {
  if (limit.bypassed) {
    return absl::StrCat(needed_bytes,
                        " bytes are needed, and this machine or the device is out of memory for "
                        "them (no limit of the process is in the way)");
  }
  return absl::StrCat(
      needed_bytes, " bytes are needed, RLIMIT_MEMLOCK of this process is ", limit.limit_bytes,
      " bytes and ", limit.pinned_bytes,
      " are pinned already; raise it (`ulimit -l`, LimitMEMLOCK= of systemd) or grant "
      "CAP_IPC_LOCK");
}

}  // namespace vof
