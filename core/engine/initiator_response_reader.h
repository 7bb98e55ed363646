// SPDX-License-Identifier: Apache-2.0
//
// Takes the responses of a virtqueue apart: completion, segment descriptors (ref), payload into the
// caller's buffers. Everything in them is checked against the request they answer.
//
//   int n = reader.PrepareRead(scratch, iovecs);
//   WireError error = reader.OnRead(bytes, consumed_bytes);   // not kNone: close the connection
//
// Small payloads are copied from the scratch buffer; what is left of a large one is received
// straight into the request's buffers. One thread.
#ifndef VOF_CORE_ENGINE_INITIATOR_RESPONSE_READER_H_
#define VOF_CORE_ENGINE_INITIATOR_RESPONSE_READER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/limits.h"
#include "core/engine/fixed_assembler.h"
#include "core/engine/initiator_queue.h"
#include "core/wire/codec.h"

namespace vof {

// While large answers are awaited, this much is read behind what is known to belong into a
// request's buffers: enough for many completions, little enough that few payload bytes are copied
// (BM_ReadAhead in testing/bench).
inline constexpr size_t kReadAheadBytes = 32u << 10;

template <Codec C>
class InitiatorResponseReader {
 public:
  explicit InitiatorResponseReader(InitiatorQueue* queue) : queue_(queue) {}

  int PrepareRead(MutableBuffer scratch, std::span<MutableBuffer> into) {
    scratch_ = scratch;
    direct_bytes_ = 0;
    int n = 0;
    if (payload_left_ > kDirectReceiveBytes) n = PrepareDirect(into);
    const bool reaches_the_end = n == 0 || direct_bytes_ == payload_left_;
    if (reaches_the_end && static_cast<size_t>(n) < into.size()) {
      if (queue_->expects_large_reads()) {
        scratch.size_bytes = std::min(scratch.size_bytes, kReadAheadBytes);
      }
      into[n++] = scratch;
    }
    return n;
  }

  // `bytes` arrived where the last PrepareRead said; `consumed_bytes` of the output are sent.
  WireError OnRead(size_t bytes, uint64_t consumed_bytes) {
    consumed_bytes_ = consumed_bytes;
    const size_t direct = std::min(bytes, direct_bytes_);
    if (direct > 0) {
      SkipPayload(direct);
      if (payload_left_ == 0) {
        if (const WireError error = Finish(); error != WireError::kNone) return error;
      }
    }
    return Parse({scratch_.data, bytes - direct});
  }

  // Between two responses.
  bool at_boundary() const { return state_ == State::kHeader && header_.empty(); }

 private:
  enum class State : uint8_t { kHeader, kDescriptors, kPayload };

  WireError Parse(std::span<const std::byte> bytes) {
    while (true) {
      WireError error = WireError::kNone;
      switch (state_) {
        case State::kHeader: {
          const std::byte* header = header_.Take(bytes);
          if (header == nullptr) return WireError::kNone;
          error = OnHeader(HeaderIn(header, size_t{kHeaderBytes}));
          break;
        }
        case State::kDescriptors: {
          const std::byte* descriptor = descriptor_.Take(bytes);
          if (descriptor == nullptr) return WireError::kNone;
          error = OnDescriptor({descriptor, C::kDescriptorBytes});
          break;
        }
        case State::kPayload:
          CopyPayload(bytes);
          if (payload_left_ > 0) return WireError::kNone;
          error = Finish();
          break;
      }
      if (error != WireError::kNone) return error;
    }
  }

  WireError OnHeader(HeaderIn header) {
    completion_ = C::DecodeCompletion(CommandKind::kVq, header);
    request_ = queue_->Find(completion_.command_id);
    if (request_ == nullptr) [[unlikely]]
      return queue_->OnUnasked(completion_, C::kDialect);
    if (completion_.used_length > request_->writable_bytes) [[unlikely]] {
      return WireError::kUsedLength;
    }
    piece_ = 0;
    piece_offset_ = 0;
    if constexpr (C::kSegmentedStreams) return ExpectDescriptors();
    if (completion_.inline_length != completion_.used_length ||
        (!completion_.ok() && completion_.used_length != 0)) [[unlikely]] {
      return WireError::kUsedLength;
    }
    return ExpectPayload(completion_.used_length);
  }

  // --- Descriptors (ref): those of the request's writable pieces, in order, shortened or not ---
  WireError ExpectDescriptors() {
    next_id_ = 0;
    for (const ConstBuffer& piece : request_->readable) next_id_ += piece.size_bytes != 0;
    uint32_t expected = 0;
    for (const MutableBuffer& piece : request_->writable) expected += piece.size_bytes != 0;
    if (completion_.ndesc != expected) return WireError::kCompletionDescriptors;
    descriptors_left_ = expected;
    described_bytes_ = 0;
    used_left_ = completion_.used_length;
    lengths_.assign(request_->writable.size(), 0);
    if (expected == 0) return Finish();
    state_ = State::kDescriptors;
    return WireError::kNone;
  }
  WireError OnDescriptor(std::span<const std::byte> bytes) {
    const Segment segment = C::DecodeSegment(bytes);
    while (request_->writable[piece_].size_bytes == 0) ++piece_;
    const size_t asked_bytes = request_->writable[piece_].size_bytes;
    if (segment.id != next_id_ || !segment.writable || segment.length_bytes == 0 ||
        segment.length_bytes > asked_bytes) {
      return WireError::kCompletionDescriptors;
    }
    // A shortened piece must not leave a hole in what the used length says is there.
    if (segment.length_bytes < std::min(asked_bytes, used_left_)) return WireError::kUsedLength;
    used_left_ -= std::min(asked_bytes, used_left_);
    lengths_[piece_++] = segment.length_bytes;
    described_bytes_ += segment.length_bytes;
    ++next_id_;
    if (--descriptors_left_ > 0) return WireError::kNone;
    piece_ = 0;
    return ExpectPayload(described_bytes_);
  }

  // --- Payload ---
  WireError ExpectPayload(uint32_t bytes) {
    payload_left_ = bytes;
    if (bytes == 0) return Finish();
    state_ = State::kPayload;
    return WireError::kNone;
  }
  // How many bytes of the payload belong into a piece of the request.
  size_t PieceBytes(size_t piece) const {
    if constexpr (C::kSegmentedStreams) return lengths_[piece];
    return request_->writable[piece].size_bytes;
  }
  void CopyPayload(std::span<const std::byte>& bytes) {
    while (payload_left_ > 0 && !bytes.empty()) {
      const size_t room = std::min<size_t>(PieceBytes(piece_) - piece_offset_, payload_left_);
      const size_t n = std::min(room, bytes.size());
      if (n > 0) {
        std::memcpy(request_->writable[piece_].data + piece_offset_, bytes.data(), n);
      }
      bytes = bytes.subspan(n);
      payload_left_ -= static_cast<uint32_t>(n);
      Advance(n);
    }
  }
  // `bytes` of payload are in place already.
  void SkipPayload(size_t bytes) {
    payload_left_ -= static_cast<uint32_t>(bytes);
    while (bytes > 0) {
      const size_t n = std::min(PieceBytes(piece_) - piece_offset_, bytes);
      bytes -= n;
      Advance(n);
    }
  }
  void Advance(size_t bytes) {
    piece_offset_ += bytes;
    if (piece_offset_ == PieceBytes(piece_)) {
      ++piece_;
      piece_offset_ = 0;
    }
  }
  // The places of the payload's rest, as far as `into` reaches.
  int PrepareDirect(std::span<MutableBuffer> into) {
    int n = 0;
    size_t left = payload_left_, offset = piece_offset_;
    for (size_t piece = piece_; left > 0 && static_cast<size_t>(n) < into.size(); ++piece) {
      const size_t bytes = std::min(PieceBytes(piece) - offset, left);
      if (bytes > 0) into[n++] = {request_->writable[piece].data + offset, bytes};
      left -= bytes;
      offset = 0;
    }
    direct_bytes_ = payload_left_ - left;
    return n;
  }

  WireError Finish() {
    state_ = State::kHeader;
    return queue_->Answer(request_, completion_, consumed_bytes_);
  }

  InitiatorQueue* const queue_;
  State state_ = State::kHeader;
  FixedAssembler<kHeaderBytes> header_;
  FixedAssembler<C::kDescriptorBytes> descriptor_;
  MutableBuffer scratch_;
  size_t direct_bytes_ = 0;  // of the last PrepareRead, before the scratch buffer
  uint64_t consumed_bytes_ = 0;

  // The response that is being read.
  Completion completion_;
  InitiatorRequest* request_ = nullptr;
  size_t piece_ = 0;  // where the next byte (or descriptor) belongs
  size_t piece_offset_ = 0;
  uint32_t payload_left_ = 0;
  uint32_t descriptors_left_ = 0;
  uint32_t described_bytes_ = 0;
  size_t used_left_ = 0;  // of the used length, behind the descriptors read so far
  uint16_t next_id_ = 0;
  std::vector<uint32_t>
      lengths_;  // of each writable piece, as the descriptors say; grows to its largest
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_INITIATOR_RESPONSE_READER_H_
