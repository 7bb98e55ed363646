// SPDX-License-Identifier: Apache-2.0
//
// Fault injection for the in-process fabric: lateness, a full send queue, a broken connection. For
// tests, ours and those of others; the same seed gives the same faults.
//
//   FabricOptions options;
//   options.a.faults = {.seed = 7, .longest_effect_delay_turns = 5, .again_every_posts = 3};
//   auto [client, server] = MakeFabricPair(&client_domain, &server_domain, options);
//
// Time is counted in turns: the calls of Reap at the end whose plan it is. An end that waits for a
// turn refuses to sleep, so a reactor comes back to it.
#ifndef VOF_BACKENDS_LOOPBACK_FABRIC_FAULTS_H_
#define VOF_BACKENDS_LOOPBACK_FABRIC_FAULTS_H_

#include <cstdint>
#include <limits>

namespace vof {

struct FabricFaults {
  uint64_t seed = 0;
  // A post takes effect up to that many turns after its Flush; never before those ahead of it.
  uint32_t longest_effect_delay_turns = 0;
  // What happened is reported up to that many turns later; in order.
  uint32_t longest_completion_delay_turns = 0;
  // So many posts take effect; the next one fails and breaks the channel.
  uint64_t break_after_posts = std::numeric_limits<uint64_t>::max();
  // Every so many calls one says kAgain although there is room; 0 never, at least 2 otherwise.
  uint32_t again_every_posts = 0;
};

}  // namespace vof

#endif  // VOF_BACKENDS_LOOPBACK_FABRIC_FAULTS_H_
