// SPDX-License-Identifier: Apache-2.0
#include "tools/config/cpu_list.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace vof {
namespace {

absl::Status NotACpuList(std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("\"", std::string(text),
                                                 "\" is not a list of CPUs: ", std::string(why),
                                                 ". Write numbers and ranges, for example 0-3,6"));
}

bool ParseCpu(absl::string_view text, uint32_t* cpu) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *cpu);
  return error == std::errc() && rest == end && *cpu <= kMaxCpu;
}

// The CPUs of this process, in order; empty when the system does not tell.
std::vector<uint32_t> AffinityMask() {
  std::vector<uint32_t> cpus;
  // The set grows until it holds every CPU that the kernel can have.
  for (uint32_t room = 1024; cpus.empty() && room <= 64 * 1024; room *= 4) {
    cpu_set_t* const set = CPU_ALLOC(room);
    if (set == nullptr) break;
    const size_t size_bytes = CPU_ALLOC_SIZE(room);
    CPU_ZERO_S(size_bytes, set);
    const bool known = sched_getaffinity(0, size_bytes, set) == 0;
    for (uint32_t cpu = 0; known && cpu < room; ++cpu) {
      if (CPU_ISSET_S(cpu, size_bytes, set)) cpus.push_back(cpu);
    }
    CPU_FREE(set);
  }
  return cpus;
}

}  // namespace

absl::StatusOr<std::vector<uint32_t>> ParseCpuList(std::string_view text) {
  std::vector<uint32_t> cpus;
  for (absl::string_view part : absl::StrSplit(absl::string_view(text.data(), text.size()), ',')) {
    const std::pair<absl::string_view, absl::string_view> ends =
        absl::StrSplit(part, absl::MaxSplits('-', 1));
    const bool is_range = part.find('-') != absl::string_view::npos;
    uint32_t first = 0;
    if (!ParseCpu(ends.first, &first)) {
      return NotACpuList(text, absl::StrCat("\"", part, "\" is not a CPU (0 to ", kMaxCpu, ")"));
    }
    uint32_t last = first;
    if (is_range && !ParseCpu(ends.second, &last)) {
      return NotACpuList(
          text, absl::StrCat("\"", part, "\" is not a range of CPUs (0 to ", kMaxCpu, ")"));
    }
    if (last < first) return NotACpuList(text, absl::StrCat("the range ", part, " runs backwards"));
    for (uint32_t cpu = first; cpu <= last; ++cpu) {
      if (std::find(cpus.begin(), cpus.end(), cpu) != cpus.end()) {
        return NotACpuList(text, absl::StrCat("CPU ", cpu, " is named twice"));
      }
      cpus.push_back(cpu);
    }
  }
  return cpus;
}

std::string FormatCpuList(const std::vector<uint32_t>& cpus) {
  std::string text;
  for (size_t first = 0; first < cpus.size();) {
    size_t last = first;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    absl::StrAppend(&text, text.empty() ? "" : ",", cpus[first]);
    if (last > first) absl::StrAppend(&text, "-", cpus[last]);
    first = last + 1;
  }
  return text;
}

uint32_t UsableCpus() {
  const size_t count = AffinityMask().size();
  return count == 0 ? 1 : static_cast<uint32_t>(count);
}

absl::Status CheckUsable(const std::vector<uint32_t>& cpus) {
  const std::vector<uint32_t> usable = AffinityMask();
  if (usable.empty()) return absl::OkStatus();  // not known: who uses them will see
  for (const uint32_t cpu : cpus) {
    if (std::binary_search(usable.begin(), usable.end(), cpu)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("CPU ", cpu, " does not exist, or this process may not use it; it may use ",
                     FormatCpuList(usable), " (see taskset)"));
  }
  return absl::OkStatus();
}

}  // namespace vof
