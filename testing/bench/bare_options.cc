// SPDX-License-Identifier: Apache-2.0
#include "testing/bench/bare_options.h"

#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace vof::bench {

void PinTo(int cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(static_cast<size_t>(cpu), &cpus);
  if (sched_setaffinity(0, sizeof(cpus), &cpus) == 0) return;
  std::perror("sched_setaffinity");
  std::exit(1);
}

int BareMain(int argc, char** argv, const char* program, BareResult (*run)(const BareOptions&)) {
  BareOptions options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view key = argv[i];
    const char* value = argv[i + 1];
    if (key == "--rw") {
      options.write = std::strcmp(value, "write") == 0;
    } else if (key == "--bs") {
      options.block_bytes = static_cast<uint32_t>(std::strtoul(value, nullptr, 10));
    } else if (key == "--depth") {
      options.depth = static_cast<uint32_t>(std::strtoul(value, nullptr, 10));
    } else if (key == "--poll") {
      options.poll = std::strcmp(value, "1") == 0;
    } else if (key == "--provider") {
      options.provider = value;
    } else if (key == "--time") {
      options.seconds = std::strtod(value, nullptr);
    } else {
      std::fprintf(stderr, "%s: unknown option %s\n", program, argv[i]);
      return 2;
    }
  }
  const BareResult r = run(options);
  const double rate = static_cast<double>(r.operations) / r.seconds;
  std::printf(
      "{\"operations\": %llu, \"seconds\": %.3f, \"iops\": %.0f, \"mean_latency_us\": %.2f}\n",
      static_cast<unsigned long long>(r.operations), r.seconds, rate, 1e6 * options.depth / rate);
  return 0;
}

}  // namespace vof::bench
