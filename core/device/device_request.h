// SPDX-License-Identifier: Apache-2.0
//
// One request as a device sees it: bytes to read, a place for the answer, one call to finish.
//
//   BufferReader in(request->readable);
//   if (!in.Read(&header, sizeof(header))) ...
//   request->AddResult(ConstBuffer(disk + offset, length));   // lent: no copy
//   request->AddResultBytes(AsBytes(status));                 // copied into the request
//   request->Complete(length + 1);
//
// Owned by the engine that made it; the device holds it from Submit to Complete. One thread: the
// reactor of the queue. Nothing here allocates.
#ifndef VOF_CORE_DEVICE_DEVICE_REQUEST_H_
#define VOF_CORE_DEVICE_DEVICE_REQUEST_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/base/buffer.h"
#include "core/base/limits.h"

namespace vof {

class DeviceRequest;

// Where a device reports completions; implemented by the engine. Never re-enters the device.
class CompletionSink {
 public:
  virtual void OnComplete(DeviceRequest* request) = 0;

 protected:
  ~CompletionSink() = default;
};

class DeviceRequest {
 public:
  // --- What the initiator sent: cut into pieces in any way ---
  std::span<const ConstBuffer> readable;
  uint32_t readable_bytes = 0;
  // --- Room for the answer, cut in any way; empty for queues that lend
  // (QueueTraits::lends_results) ---
  std::span<const MutableBuffer> writable;
  uint32_t writable_bytes = 0;  // what the initiator has room for, lent or not

  // A word for the device to keep its own state in; zero when submitted.
  uint64_t device_word = 0;

  // --- For queues that lend: the answer's pieces, in order, from the start of the writable part
  // --- `lent` must stay readable and mapped until the queue is destroyed or the device says
  // otherwise by its own rules: it is read when the transport sends, after Complete. False when the
  // pieces are used up.
  bool AddResult(ConstBuffer lent) {
    if (lent.size_bytes == 0) return true;
    if (num_pieces_ == kMaxResultPieces) return false;
    pieces_[num_pieces_++] = lent;
    result_bytes_ += static_cast<uint32_t>(lent.size_bytes);
    return true;
  }
  // Copies at most kInlineResultBytes in all into the request itself.
  bool AddResultBytes(std::span<const std::byte> bytes) {
    if (bytes.empty()) return true;
    if (bytes.size() > kInlineResultBytes - inline_used_) return false;
    std::byte* to = inline_.data() + inline_used_;
    std::memcpy(to, bytes.data(), bytes.size());
    inline_used_ += static_cast<uint32_t>(bytes.size());
    return AddResult(ConstBuffer(to, bytes.size()));
  }

  // Finishes the request. `used_length` is the used length of virtio: the bytes of the writable
  // part, from its start, that now hold data. For queues that lend it must equal the bytes added.
  void Complete(uint32_t used_length) {
    used_length_ = used_length;
    sink_->OnComplete(this);
  }
  // The device cannot express its failure in the answer (no status byte fits): the engine closes
  // the queue or answers with a transport status, as the dialect allows.
  void Fail() {
    failed_ = true;
    Complete(0);
  }

  // --- For the engine ---
  void Reset(CompletionSink* sink) {
    sink_ = sink;
    readable = {};
    writable = {};
    readable_bytes = writable_bytes = 0;
    device_word = 0;
    num_pieces_ = 0;
    inline_used_ = result_bytes_ = used_length_ = 0;
    failed_ = false;
  }
  std::span<const ConstBuffer> result() const {
    return {pieces_.data(), static_cast<size_t>(num_pieces_)};
  }
  uint32_t result_bytes() const { return result_bytes_; }
  uint32_t used_length() const { return used_length_; }
  bool failed() const { return failed_; }

 private:
  CompletionSink* sink_ = nullptr;
  std::array<ConstBuffer, kMaxResultPieces> pieces_;
  std::array<std::byte, kInlineResultBytes> inline_;
  int num_pieces_ = 0;
  uint32_t inline_used_ = 0;
  uint32_t result_bytes_ = 0;
  uint32_t used_length_ = 0;
  bool failed_ = false;
};

}  // namespace vof

#endif  // VOF_CORE_DEVICE_DEVICE_REQUEST_H_
