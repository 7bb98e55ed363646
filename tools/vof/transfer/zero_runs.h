// SPDX-License-Identifier: Apache-2.0
//
// Finds the zeros in data, so that they need not be stored.
//
//   while (!data.empty()) {
//     const DataRun run = FirstRun(data, 4096);           // all zero, or not
//     Use(data.first(run.size_bytes), run.is_zero);
//     data = data.subspan(run.size_bytes);
//   }
//
// Pure; any thread.
#ifndef VOF_TOOLS_VOF_TRANSFER_ZERO_RUNS_H_
#define VOF_TOOLS_VOF_TRANSFER_ZERO_RUNS_H_

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

namespace vof {

struct DataRun {
  size_t size_bytes = 0;
  bool is_zero = false;
};

inline bool IsZero(std::span<const std::byte> data) {
  // Comparing the data with itself, one byte on, is as fast as memcmp.
  return data.empty() || (data[0] == std::byte{0} &&
                          std::memcmp(data.data(), data.data() + 1, data.size() - 1) == 0);
}

// The longest run of units that are all zero, or all not. The last unit may be short. `data` is not
// empty.
inline DataRun FirstRun(std::span<const std::byte> data, size_t unit_bytes) {
  const auto unit_at = [&](size_t offset) {
    return data.subspan(offset, std::min(unit_bytes, data.size() - offset));
  };
  DataRun run{unit_at(0).size(), IsZero(unit_at(0))};
  while (run.size_bytes < data.size() && IsZero(unit_at(run.size_bytes)) == run.is_zero) {
    run.size_bytes += unit_at(run.size_bytes).size();
  }
  return run;
}

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TRANSFER_ZERO_RUNS_H_
