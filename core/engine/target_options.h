// SPDX-License-Identifier: Apache-2.0
//
// What a target allows its initiators: limits, times, and the transport features it offers.
//
//   TargetDirectory directory({.max_instances = 16});
//
// Plain values, fixed before the first connection; tests lower them.
#ifndef VOF_CORE_ENGINE_TARGET_OPTIONS_H_
#define VOF_CORE_ENGINE_TARGET_OPTIONS_H_

#include <cstdint>

#include "core/base/limits.h"
#include "core/wire/command.h"

namespace vof {

struct TargetOptions {
  // --- Totals ---
  uint32_t max_instances = kMaxInstances;
  uint32_t max_connections = kMaxConnections;  // half-open ones included
  // --- Per session ---
  uint16_t max_queues_per_instance = kMaxQueuesPerInstance;
  // Pool memory that the requests of one session may hold, in equal shares of its device's
  // virtqueues. A queue with nothing in flight may always take one request, so a small share never
  // blocks for good.
  // Half of a pool by default: one session that hangs leaves the other half to the others.
  uint64_t max_session_bytes = kDefaultPoolBytes / 2;
  // --- Per request, each direction (page 0x101) ---
  uint32_t max_out_bytes = kMaxRequestBytes;
  uint32_t max_in_bytes = kMaxRequestBytes;
  // --- Times ---
  Nanoseconds handshake_timeout = kHandshakeTimeout;
  Nanoseconds stall_timeout = kStallTimeout;
  Nanoseconds reset_timeout = kResetTimeout;
  // --- Offers ---
  // Bits of page 0 in the native dialect. Bits that the engine does not implement are never
  // offered.
  uint64_t transport_features =
      transport_feature::kCredit | transport_feature::kNumQueues | transport_feature::kInline;
  // Keyed queues with INLINE: a 4 KiB block with its header or its status, and some room.
  uint32_t inline_request_bytes = kDefaultInlineBytes;
  uint32_t inline_completion_bytes = kDefaultInlineBytes;
  // VERSION_1 in `ref`: the Linux initiator of 2023 then insists on FEATURES_OK (docs/protocol.md).
  bool ref_offers_version_1 = false;
};

// What the engines implement; the offer is this and TargetOptions::transport_features.
inline constexpr uint64_t kImplementedTransportFeatures =
    transport_feature::kCredit | transport_feature::kNumQueues;
inline constexpr uint64_t kKeyedTransportFeatures =
    kImplementedTransportFeatures | transport_feature::kInline;

}  // namespace vof

#endif  // VOF_CORE_ENGINE_TARGET_OPTIONS_H_
