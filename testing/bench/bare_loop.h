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

#include "testing/bench/bare_options.h"

namespace vof::bench {

BareResult RunBareLoop(const BareOptions& options);

}  // namespace vof::bench

#endif  // VOF_TESTING_BENCH_BARE_LOOP_H_
