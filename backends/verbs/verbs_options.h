// SPDX-License-Identifier: Apache-2.0
//
// How channels over verbs are made. The defaults are for queues of this protocol; what a device
// cannot do is cut down to what it can.
//
//   RegisterVerbs(registry, {.send_depth = 1024});
#ifndef VOF_BACKENDS_VERBS_VERBS_OPTIONS_H_
#define VOF_BACKENDS_VERBS_VERBS_OPTIONS_H_

#include <cstdint>

#include "core/base/limits.h"
#include "core/base/time.h"

namespace vof {

struct VerbsOptions {
  // Work requests outstanding on a channel: a queue of 128 requests needs about three each.
  int send_depth = 512;
  // The most that SetReceiveDepth may ask for: the largest queue's commands, and those beyond its
  // credits. It sizes the queue, not the memory, which is taken as the depth grows.
  int max_receives = kMaxQueueSize + 2;
  // Receives posted before the connection stands, so that a peer that speaks at once is not
  // refused: its Connect and one more.
  int initial_receives = 2;
  int max_local_segments = 8;
  // A send up to here is copied into the work request.
  uint32_t inline_bytes = 128;
  // One completion is asked for at least every so many work requests, and with the last of a chain.
  int signal_every = 32;
  // One receive queue for all channels of a domain, if the device has such queues.
  bool shared_receives = false;
  int max_shared_receives = 16384;

  // --- Listening ---
  int backlog = 128;
  // Connections that were asked for and not established yet; more are refused.
  int max_pending = 64;
  Nanoseconds handshake_timeout = kHandshakeTimeout;
};

}  // namespace vof

#endif  // VOF_BACKENDS_VERBS_VERBS_OPTIONS_H_
