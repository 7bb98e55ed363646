// SPDX-License-Identifier: Apache-2.0
//
// What the programs that show the limit of a machine or a fabric have in common: their command
// line, their result.
//
//   int main(int argc, char** argv) {
//     return vof::bench::BareMain(argc, argv, "bare-loop", vof::bench::RunBareLoop);
//   }
#ifndef VOF_TESTING_BENCH_BARE_OPTIONS_H_
#define VOF_TESTING_BENCH_BARE_OPTIONS_H_

#include <cstdint>
#include <string>

namespace vof::bench {

struct BareOptions {
  bool write = false;
  bool poll = false;             // TCP: spin on recv instead of sleeping in epoll_wait
  std::string provider = "shm";  // libfabric
  uint32_t block_bytes = 4096;
  uint32_t depth = 32;
  double seconds = 1.0;
  double warmup_seconds = 0.2;
  uint64_t arena_bytes = 256u << 20;
  int server_cpu = 0;
  int client_cpu = 1;
};

struct BareResult {
  uint64_t operations = 0;
  double seconds = 0;
};

// For the calling thread, and those that it starts.
void PinTo(int cpu);

// --rw read|write --bs BYTES --depth N --poll 0|1 --provider NAME --time SECONDS; runs, and prints
// one line of JSON. The exit code: 2 for a wrong command line.
int BareMain(int argc, char** argv, const char* program, BareResult (*run)(const BareOptions&));

}  // namespace vof::bench

#endif  // VOF_TESTING_BENCH_BARE_OPTIONS_H_
