// SPDX-License-Identifier: Apache-2.0
//
// What a session agreed on, as the options of its virtqueues.
//
//   InitiatorQueueOptions queue = AgreedQueueOptions(info, /*queue_index=*/0);
//   KeyedLimits limits = AgreedKeyedLimits(info);      // keyed transmission only
//
// Pure.
#ifndef VOF_CORE_ENGINE_AGREED_OPTIONS_H_
#define VOF_CORE_ENGINE_AGREED_OPTIONS_H_

#include <cstddef>

#include "core/engine/initiator_handshake.h"
#include "core/engine/initiator_queue.h"
#include "core/engine/keyed_request_parser.h"
#include "core/wire/command.h"

namespace vof {

inline InitiatorQueueOptions AgreedQueueOptions(const SessionInfo& info, size_t queue_index) {
  InitiatorQueueOptions options;
  options.queue_size = info.queue_sizes[queue_index];
  options.credits = (info.transport_features & transport_feature::kCredit) != 0;
  options.max_out_bytes = info.max_out_bytes;
  options.max_in_bytes = info.max_in_bytes;
  options.max_segments = info.max_segments;
  return options;
}

inline KeyedLimits AgreedKeyedLimits(const SessionInfo& info) {
  KeyedLimits limits;
  limits.inline_accepted = (info.transport_features & transport_feature::kInline) != 0;
  limits.max_inline_request_bytes = info.inline_request_bytes;
  limits.max_inline_completion_bytes = info.inline_completion_bytes;
  return limits;
}

}  // namespace vof

#endif  // VOF_CORE_ENGINE_AGREED_OPTIONS_H_
