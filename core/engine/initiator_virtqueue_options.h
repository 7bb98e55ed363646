// SPDX-License-Identifier: Apache-2.0
//
// How a virtqueue of an initiator introduces itself, and whom it tells what becomes of it.
//
//   InitiatorVirtqueueOptions options{.instance_id = info.instance_id, .queue_index = 0};
//   options.on_ended = [](const absl::Status& why) { ... };
//
// The same on every transmission.
#ifndef VOF_CORE_ENGINE_INITIATOR_VIRTQUEUE_OPTIONS_H_
#define VOF_CORE_ENGINE_INITIATOR_VIRTQUEUE_OPTIONS_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "core/base/limits.h"
#include "core/base/time.h"
#include "core/wire/command.h"

namespace vof {

struct InitiatorVirtqueueOptions {
  uint16_t instance_id = 0;  // what Connect of the control queue was answered
  uint16_t queue_index = 0;
  ConnectBody body;  // names and token of the session
  Nanoseconds connect_timeout = kHandshakeTimeout;

  // Called in Advance, each at most once; may be empty. The target accepted the queue.
  std::function<void()> on_connected;
  // Everything submitted before Drain() is done.
  std::function<void()> on_drained;
  // The connection is closed; the requests that this ends are done after the call. `why` is
  // kCancelled when this side closed it. May give the queue, which goes on to exist, another wake
  // hook.
  std::function<void(const absl::Status& why)> on_ended;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_INITIATOR_VIRTQUEUE_OPTIONS_H_
