// SPDX-License-Identifier: Apache-2.0
//
// One virtqueue request of an initiator: what to send, where the answer goes, whom to tell.
//
//   InitiatorRequest request;
//   request.readable = out;               // header and data, cut in any way
//   request.writable = in;                // data and status, cut in any way
//   request.done = [](InitiatorRequest* r) { static_cast<MyIo*>(r->context)->Finish(r->error); };
//   queue.Submit(&request);               // caller keeps it and its buffers alive until `done`
//
// Owned by the caller, intrusive: nothing allocates per request. One thread: the reactor of the
// queue.
#ifndef VOF_CORE_ENGINE_INITIATOR_REQUEST_H_
#define VOF_CORE_ENGINE_INITIATOR_REQUEST_H_

#include <cstdint>
#include <span>

#include "core/base/buffer.h"
#include "core/base/time.h"
#include "core/wire/command.h"

namespace vof {

enum class RequestError : uint8_t {
  kNone,
  kRefused,    // the target answered with a status (see `cause`); the device was not touched
  kTooLarge,   // beyond the limits of the target or the dialect; never sent
  kTimedOut,   // no answer in time: the connection was closed, the outcome is unknown
  kClosed,     // the connection ended first, the outcome is unknown
  kProtocol,   // the target broke the protocol: closed, the outcome is unknown
  kCancelled,  // never sent: the queue ended before
};

struct InitiatorRequest {
  std::span<const ConstBuffer> readable;
  std::span<const MutableBuffer> writable;
  // Called once, on the reactor's thread, never inside Submit. It may submit again, this one too.
  void (*done)(InitiatorRequest* request) = nullptr;
  void* context = nullptr;
  // 0: the queue's time-out.
  Nanoseconds timeout = 0;

  // --- The outcome, valid in `done` ---
  RequestError error = RequestError::kNone;
  Cause cause = Cause::kOk;
  uint16_t status = 0;  // kRefused: the number that came, for people to read
  uint32_t used_length = 0;

  // --- The engine's ---
  InitiatorRequest* next = nullptr;
  InitiatorRequest* previous = nullptr;
  MonotonicTime deadline = 0;
  uint32_t readable_bytes = 0;
  uint32_t writable_bytes = 0;
  uint16_t command_id = 0;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_INITIATOR_REQUEST_H_
