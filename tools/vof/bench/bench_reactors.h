// SPDX-License-Identifier: Apache-2.0
//
// The threads that a benchmark runs on.
//
//   absl::StatusOr<BenchReactors> threads = StartBenchReactors(options);
#ifndef VOF_TOOLS_VOF_BENCH_BENCH_REACTORS_H_
#define VOF_TOOLS_VOF_BENCH_BENCH_REACTORS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/limits.h"
#include "core/runtime/reactor_thread.h"
#include "tools/config/cpu_list.h"
#include "tools/vof/bench/bench_options.h"

namespace vof {

using BenchReactors = std::vector<std::unique_ptr<ReactorThread>>;

// Room for all that may be under way at once, were it one reactor's, with the headers of requests.
inline size_t BenchPoolBytes(const BenchOptions& options) {
  const uint64_t in_flight_bytes = options.queues * options.depth * options.block_bytes;
  return std::min<uint64_t>(kDefaultClientPoolBytes / 2 + 2 * in_flight_bytes, kDefaultPoolBytes);
}

// One for each CPU of the options, else one for each queue, but no more than there are CPUs.
inline absl::StatusOr<BenchReactors> StartBenchReactors(const BenchOptions& options) {
  const uint64_t count =
      options.cpus.empty() ? std::min<uint64_t>(options.queues, UsableCpus()) : options.cpus.size();
  BenchReactors threads;
  for (uint64_t i = 0; i < count; ++i) {
    ReactorOptions reactor{.name = absl::StrCat("bench-", i),
                           .busy_poll = options.busy_poll,
                           .spin = options.spin,
                           .pool_bytes = BenchPoolBytes(options)};
    if (!options.cpus.empty()) reactor.cpu = static_cast<int>(options.cpus[i]);
    auto thread = ReactorThread::Start(reactor);
    if (!thread.ok()) return thread.status();
    threads.push_back(*std::move(thread));
  }
  return threads;
}

}  // namespace vof

#endif  // VOF_TOOLS_VOF_BENCH_BENCH_REACTORS_H_
