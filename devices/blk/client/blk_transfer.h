// SPDX-License-Identifier: Apache-2.0
//
// One blocking operation of any length: cut into requests, several of them in flight, on one
// virtqueue.
//
//   BlkTransfer transfer(queue, {.type = kBlkTypeIn, .offset_bytes = 0, .into = buffer});
//   BlkTransfer::Outcome outcome = transfer.Run();          // not on a reactor's thread
//
// After the first failure nothing new is sent; the outcome names the request that failed first.
#ifndef VOF_DEVICES_BLK_CLIENT_BLK_TRANSFER_H_
#define VOF_DEVICES_BLK_CLIENT_BLK_TRANSFER_H_

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "devices/blk/blk_wire.h"
#include "devices/blk/client/blk_client_queue.h"
#include "devices/blk/client/blk_io.h"

namespace vof {

class BlkTransfer {
 public:
  struct Plan {
    uint32_t type = kBlkTypeIn;
    uint64_t offset_bytes = 0;
    uint64_t length_bytes = 0;           // 0 for those without a range: flush, id
    std::byte* into = nullptr;           // kBlkTypeIn
    const std::byte* from = nullptr;     // kBlkTypeOut
    uint64_t largest_request_bytes = 0;  // of one request; ranges only
    bool may_unmap = false;              // kBlkTypeWriteZeroes
  };
  struct Outcome {
    BlkError error = BlkError::kNone;
    Cause cause = Cause::kOk;   // kRefused: why
    uint16_t status = 0;        // kRefused: the number that came
    uint64_t offset_bytes = 0;  // of the request that failed
    uint64_t length_bytes = 0;
  };

  BlkTransfer(BlkClientQueue* queue, const Plan& plan);
  Outcome Run();
  // kBlkTypeGetId: what the device answered.
  std::span<const char, kBlkIdBytes> id() const { return id_; }

 private:
  // Enough to keep a link busy with requests of a few hundred KiB.
  static constexpr size_t kInFlight = 8;

  struct Step {
    BlkIo io;
    BlkTransfer* transfer = nullptr;
    uint64_t offset_bytes = 0;
    uint64_t length_bytes = 0;
  };

  bool has_more() const { return !begun_ || next_bytes_ < plan_.length_bytes; }
  void Begin();
  void SendNext(Step* step);
  void OnDone(Step* step);

  BlkClientQueue* const queue_;
  const Plan plan_;
  std::array<Step, kInFlight> steps_;
  std::array<char, kBlkIdBytes> id_{};
  // The reactor's thread, then the caller's.
  uint64_t next_bytes_ = 0;  // of the range, handed out
  size_t in_flight_ = 0;
  bool begun_ = false;
  Outcome outcome_;

  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
};

}  // namespace vof

#endif  // VOF_DEVICES_BLK_CLIENT_BLK_TRANSFER_H_
