// SPDX-License-Identifier: Apache-2.0
//
// One request of a virtqueue, awaited.
//
//   EXPECT_EQ(RunRequest(&client->queue(0), readable, writable), RequestError::kNone);
//
// Not on the queue's reactor. The buffers are free again when it returns.
#ifndef VOF_TESTING_CLIENT_RUN_REQUEST_H_
#define VOF_TESTING_CLIENT_RUN_REQUEST_H_

#include <future>
#include <span>

#include "core/base/buffer.h"
#include "core/engine/initiator_request.h"
#include "core/runtime/client.h"

namespace vof {

inline RequestError RunRequest(ClientQueue* queue, std::span<const ConstBuffer> readable,
                               std::span<const MutableBuffer> writable) {
  std::promise<RequestError> done;
  InitiatorRequest request;
  request.readable = readable;
  request.writable = writable;
  request.context = &done;
  request.done = [](InitiatorRequest* r) {
    static_cast<std::promise<RequestError>*>(r->context)->set_value(r->error);
  };
  queue->Post([&] { queue->Submit(&request); });
  return done.get_future().get();
}

}  // namespace vof

#endif  // VOF_TESTING_CLIENT_RUN_REQUEST_H_
