// SPDX-License-Identifier: Apache-2.0
//
// bare-loop --rw read|write --bs BYTES --depth N --poll 0|1 --time SECONDS: prints one JSON line.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "testing/bench/bare_loop.h"

int main(int argc, char** argv) {
  vof::bench::BareOptions options;
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
    } else if (key == "--time") {
      options.seconds = std::strtod(value, nullptr);
    } else {
      std::fprintf(stderr, "bare-loop: unknown option %s\n", argv[i]);
      return 2;
    }
  }
  const vof::bench::BareResult r = vof::bench::RunBareLoop(options);
  const double rate = static_cast<double>(r.operations) / r.seconds;
  std::printf(
      "{\"operations\": %llu, \"seconds\": %.3f, \"iops\": %.0f, \"mean_latency_us\": %.2f}\n",
      static_cast<unsigned long long>(r.operations), r.seconds, rate, 1e6 * options.depth / rate);
  return 0;
}
