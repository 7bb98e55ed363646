// SPDX-License-Identifier: Apache-2.0
//
// The bytes that a stream engine wants to send: headers copied into a small ring, payloads by
// reference.
//
//   if (!out.HasRoom(kHeaderBytes, 1)) return;             // later: after Consume
//   EncodeHeader(out.Copy(kHeaderBytes));                  // 16 bytes to fill in
//   out.Reference(payload);                                // stays the caller's, alive until sent
//   uint64_t mark = out.appended_bytes();                  // released when consumed_bytes() >=
//   mark int n = out.Fill(iovecs);  ...  out.Consume(written);
//
// Adjacent copies become one piece, so a batch of small messages is one iovec. Memory is taken at
// the first use and only then: an idle connection has none. One thread.
#ifndef VOF_CORE_ENGINE_OUTPUT_QUEUE_H_
#define VOF_CORE_ENGINE_OUTPUT_QUEUE_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/base/buffer.h"

namespace vof {

class OutputQueue {
 public:
  // Room for `staging_bytes` of copied bytes and `max_pieces` pieces; both are rounded up to powers
  // of two.
  OutputQueue(size_t staging_bytes, size_t max_pieces)
      : staging_capacity_(std::bit_ceil(staging_bytes)),
        piece_mask_(std::bit_ceil(max_pieces) - 1) {}

  // Whether one Copy of `copy_bytes` and `references` References would fit now. (A copy is
  // contiguous, so it may need to skip the end of the ring.)
  bool HasRoom(size_t copy_bytes, size_t references) const {
    return pieces_end_ - pieces_begin_ + references + 1 <= piece_mask_ + 1 &&
           SkipFor(copy_bytes) + copy_bytes <= staging_capacity_ - (staged_end_ - staged_begin_);
  }

  // `bytes` of contiguous space to fill in at once. HasRoom() must have said so.
  std::byte* Copy(size_t bytes) {
    if (!staging_) Allocate();
    const size_t skip = SkipFor(bytes);
    staged_end_ += skip;
    std::byte* place = staging_.get() + (staged_end_ & (staging_capacity_ - 1));
    staged_end_ += bytes;
    appended_bytes_ += bytes;
    if (pieces_end_ != pieces_begin_) {
      Piece& last = pieces_[(pieces_end_ - 1) & piece_mask_];
      if (last.staged && last.bytes.data + last.bytes.size_bytes == place) {
        last.bytes.size_bytes += bytes;
        last.staged_end = staged_end_;
        return place;
      }
    }
    pieces_[pieces_end_++ & piece_mask_] = {ConstBuffer(place, bytes), staged_end_, true};
    return place;
  }

  // Sends `bytes` from where they are; they must stay until consumed_bytes() has passed them.
  void Reference(ConstBuffer bytes) {
    if (bytes.size_bytes == 0) return;
    if (!staging_) Allocate();
    appended_bytes_ += bytes.size_bytes;
    pieces_[pieces_end_++ & piece_mask_] = {bytes, staged_end_, false};
  }

  bool empty() const { return pieces_begin_ == pieces_end_; }
  uint64_t appended_bytes() const { return appended_bytes_; }  // ever
  uint64_t consumed_bytes() const { return consumed_bytes_; }  // ever
  uint64_t pending_bytes() const { return appended_bytes_ - consumed_bytes_; }

  // Describes the next bytes to send; returns how many entries were filled.
  int Fill(std::span<ConstBuffer> into) const {
    const size_t n = std::min<size_t>(into.size(), pieces_end_ - pieces_begin_);
    for (size_t i = 0; i < n; ++i) into[i] = pieces_[(pieces_begin_ + i) & piece_mask_].bytes;
    return static_cast<int>(n);
  }

  // `bytes` of what Fill described were sent.
  void Consume(size_t bytes) {
    consumed_bytes_ += bytes;
    while (bytes > 0) {
      Piece& first = pieces_[pieces_begin_ & piece_mask_];
      if (bytes < first.bytes.size_bytes) {
        first.bytes.data += bytes;
        first.bytes.size_bytes -= bytes;
        return;
      }
      bytes -= first.bytes.size_bytes;
      staged_begin_ = first.staged_end;
      ++pieces_begin_;
    }
    if (empty())
      staged_begin_ = staged_end_ = 0;  // start over: the front of the ring stays in cache
  }

  // Forgets everything unsent (the connection is closed).
  void Clear() {
    consumed_bytes_ = appended_bytes_;
    pieces_begin_ = pieces_end_ = 0;
    staged_begin_ = staged_end_ = 0;
  }

  // Gives the memory back while empty (an idle connection).
  void Trim() {
    if (!empty()) return;
    staging_.reset();
    pieces_.reset();
  }

 private:
  struct Piece {
    ConstBuffer bytes;
    uint64_t staged_end = 0;  // how far staging is free once this piece is sent
    bool staged = false;
  };

  size_t SkipFor(size_t bytes) const {
    const size_t to_end = staging_capacity_ - (staged_end_ & (staging_capacity_ - 1));
    return bytes <= to_end ? 0 : to_end;
  }
  void Allocate() {
    staging_ = std::make_unique_for_overwrite<std::byte[]>(staging_capacity_);
    pieces_ = std::make_unique<Piece[]>(piece_mask_ + 1);
  }

  const size_t staging_capacity_;
  const size_t piece_mask_;
  std::unique_ptr<std::byte[]> staging_;
  std::unique_ptr<Piece[]> pieces_;
  uint64_t pieces_begin_ = 0, pieces_end_ = 0;
  uint64_t staged_begin_ = 0, staged_end_ = 0;
  uint64_t appended_bytes_ = 0, consumed_bytes_ = 0;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_OUTPUT_QUEUE_H_
