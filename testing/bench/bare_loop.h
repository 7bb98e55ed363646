// SPDX-License-Identifier: Apache-2.0
//
// The limit of a machine: request and response of the same sizes as a virtio-blk exchange, over one
// TCP connection, with no protocol at all. Batches as much as it can; the server copies from and to
// random places of an arena as a disk would.
//
//   BareOptions options{.write = false, .block_bytes = 4096, .depth = 32, .poll = true};
//   BareResult r = RunBareLoop(options);     // two threads, one core each
//   double operations_per_second = r.operations / r.seconds;
#ifndef VOF_TESTING_BENCH_BARE_LOOP_H_
#define VOF_TESTING_BENCH_BARE_LOOP_H_

#include <cstddef>
#include <cstdint>

namespace vof::bench {

struct BareOptions {
  bool write = false;
  bool poll = false;  // spin on recv instead of sleeping in epoll_wait
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

BareResult RunBareLoop(const BareOptions& options);

}  // namespace vof::bench

#endif  // VOF_TESTING_BENCH_BARE_LOOP_H_
