// SPDX-License-Identifier: Apache-2.0
//
// The limit of a provider of libfabric: request and response of the same sizes and with the same
// operations as a virtio-blk exchange, with no protocol at all. Two processes, both polling; the
// server copies from and to random places of an arena as a disk would.
//
//   BareOptions options{.provider = "shm", .write = false, .block_bytes = 4096, .depth = 32};
//   BareResult r = RunBareFabric(options);
//
// Blocks up to kInlineBlockBytes travel inside the messages; larger ones are stored into the
// client's memory, or fetched from there, by the server. Unconnected endpoints (FI_EP_RDM) only.
#ifndef VOF_TESTING_BENCH_BARE_FABRIC_H_
#define VOF_TESTING_BENCH_BARE_FABRIC_H_

#include <cstdint>

#include "testing/bench/bare_options.h"

namespace vof::bench {

inline constexpr uint32_t kInlineBlockBytes = 4096;

// Ends the process with a text when the fabric fails.
BareResult RunBareFabric(const BareOptions& options);

}  // namespace vof::bench

#endif  // VOF_TESTING_BENCH_BARE_FABRIC_H_
