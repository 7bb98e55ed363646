// SPDX-License-Identifier: Apache-2.0
//
// What one end of a channel of the in-process fabric did: for tests that count operations.
//
//   EXPECT_EQ(client.stats().sends, 1u);
#ifndef VOF_BACKENDS_LOOPBACK_FABRIC_STATS_H_
#define VOF_BACKENDS_LOOPBACK_FABRIC_STATS_H_

#include <cstdint>

namespace vof {

// Since the channel was made; of what took effect, not of what was posted.
struct FabricStats {
  uint64_t sends = 0;
  uint64_t fetches = 0;
  uint64_t stores = 0;
  uint64_t immediates = 0;          // of the stores, those with immediate
  uint64_t doorbells = 0;           // flushes that had something to flush
  uint64_t receiver_not_ready = 0;  // times that a message began to wait for a receive
};

}  // namespace vof

#endif  // VOF_BACKENDS_LOOPBACK_FABRIC_STATS_H_
