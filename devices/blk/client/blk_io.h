// SPDX-License-Identifier: Apache-2.0
//
// One block request in flight, for code that lives on the queue's reactor: nothing blocks, nothing
// allocates.
//
//   BlkIo io;                                               // reusable, must outlive its request
//   io.context = this;
//   io.done = [](BlkIo* io) { static_cast<Me*>(io->context)->OnDone(io->error); };
//   queue.Read(&io, /*offset_bytes=*/0, {data, 4096});      // BlkClientQueue, blk_client_queue.h
//
// Limits are the caller's to keep (BlkInfo); what the device does not take ends with an error.
#ifndef VOF_DEVICES_BLK_CLIENT_BLK_IO_H_
#define VOF_DEVICES_BLK_CLIENT_BLK_IO_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/buffer.h"
#include "core/engine/initiator_request.h"
#include "devices/blk/blk_wire.h"

namespace vof {

enum class BlkError : uint8_t {
  kNone,
  kIoError,      // the device failed it: S_IOERR
  kUnsupported,  // S_UNSUPP
  kRefused,      // the target did not let it reach the device
  kTooLarge,     // more than a request may carry; never sent
  kTimedOut,     // outcome unknown, the virtqueue is lost
  kLost,         // outcome unknown, the virtqueue is lost
  kCancelled,    // never sent: the virtqueue was lost before
  kBadAnswer,    // the device did not fill the status in
};
std::string_view BlkErrorText(BlkError error);  // a clause for people

// Data pieces of one request. `ref` cuts them further, to the device's largest segment.
inline constexpr size_t kBlkIoPieces = 32;

struct BlkIo {
  // --- The caller's ---
  void (*done)(BlkIo* io) =
      nullptr;  // once, on the reactor's thread, never inside a call of BlkClientQueue
  void* context = nullptr;
  Nanoseconds timeout = 0;  // 0: the client's

  // --- The outcome, valid in `done` ---
  BlkError error = BlkError::kNone;

  // --- BlkClientQueue's ---
  InitiatorRequest request;
  BlkRequestHeader header;
  uint8_t status = 0;
  BlkDiscardSegment segment;
  std::array<ConstBuffer, kBlkIoPieces + 1> readable;
  std::array<MutableBuffer, kBlkIoPieces + 1> writable;
};

}  // namespace vof

#endif  // VOF_DEVICES_BLK_CLIENT_BLK_IO_H_
