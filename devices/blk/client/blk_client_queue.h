// SPDX-License-Identifier: Apache-2.0
//
// Block requests on one virtqueue, from its reactor's thread. See blk_io.h.
//
//   BlkClientQueue& queue = client->queue(0);
//   queue.Post([&] { queue.Read(&io, 0, {data, 4096}); });
#ifndef VOF_DEVICES_BLK_CLIENT_BLK_CLIENT_QUEUE_H_
#define VOF_DEVICES_BLK_CLIENT_BLK_CLIENT_QUEUE_H_

#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "core/base/buffer.h"
#include "core/runtime/client.h"
#include "devices/blk/client/blk_io.h"

namespace vof {

class BlkClientQueue {
 public:
  // `largest_segment_bytes`: data pieces are cut to it; 0: as they are.
  BlkClientQueue(ClientQueue* queue, uint32_t largest_segment_bytes)
      : queue_(queue), largest_segment_bytes_(largest_segment_bytes) {}

  // Each takes `io` and the data until io->done. Offsets and lengths in bytes, multiples of 512.
  // More data pieces than kBlkIoPieces end with kTooLarge.
  void Read(BlkIo* io, uint64_t offset_bytes, MutableBuffer into) {
    Read(io, offset_bytes, std::span<const MutableBuffer>(&into, 1));
  }
  void Write(BlkIo* io, uint64_t offset_bytes, ConstBuffer data) {
    Write(io, offset_bytes, std::span<const ConstBuffer>(&data, 1));
  }
  // The array of pieces is copied, the bytes are not.
  void Read(BlkIo* io, uint64_t offset_bytes, std::span<const MutableBuffer> into);
  void Write(BlkIo* io, uint64_t offset_bytes, std::span<const ConstBuffer> data);
  void Flush(BlkIo* io);
  void Discard(BlkIo* io, uint64_t offset_bytes, uint64_t length_bytes);
  void WriteZeroes(BlkIo* io, uint64_t offset_bytes, uint64_t length_bytes, bool may_unmap);
  // `id` gets kBlkIdBytes, not terminated when it is that long.
  void GetId(BlkIo* io, std::span<char, kBlkIdBytes> id);

  void Post(std::function<void()> work) { queue_->Post(std::move(work)); }
  Reactor* reactor() const { return queue_->reactor(); }
  absl::Status status() const { return queue_->status(); }
  uint16_t size() const { return queue_->size(); }

 private:
  void Begin(BlkIo* io, uint32_t type, uint64_t offset_bytes);
  void Submit(BlkIo* io, size_t num_readable, size_t num_writable, bool fits);
  void SubmitRange(BlkIo* io, uint32_t type, uint64_t offset_bytes, uint64_t length_bytes,
                   uint32_t flags);
  template <typename Buffer>
  bool CutPieces(std::span<const Buffer> pieces, std::span<Buffer> out, size_t* count) const;

  ClientQueue* const queue_;
  const uint32_t largest_segment_bytes_;
};

}  // namespace vof

#endif  // VOF_DEVICES_BLK_CLIENT_BLK_CLIENT_QUEUE_H_
