// SPDX-License-Identifier: Apache-2.0
//
// Frames completions on a target's stream: the output queue and what is written into it.
//
//   if (writer.HasRoomForReply()) writer.WriteReply(CommandKind::kGetStatus, completion);
//   if (writer.HasRoomFor(request)) {
//     if (writer.WriteResponse(request, completion)) KeepUntilSent(request);   // its memory is
//     referred to
//   }
//
// Small pieces are copied, so that a status byte and the next header become one entry of the
// vectored write; large ones are sent from where they are. Room is kept back for answers that
// nothing can hold up. One thread.
#ifndef VOF_CORE_ENGINE_TARGET_RESPONSE_H_
#define VOF_CORE_ENGINE_TARGET_RESPONSE_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/engine/output_queue.h"
#include "core/engine/target_request.h"
#include "core/wire/codec.h"
#include "core/wire/command.h"

namespace vof {

// Sent for what a device did not fill.
inline constexpr size_t kZeroBytes = 64u << 10;
alignas(64) inline constexpr std::array<std::byte, kZeroBytes> kZeros{};

template <Codec C>
class ResponseWriter {
 public:
  ResponseWriter(size_t staging_bytes, size_t max_pieces) : out_(staging_bytes, max_pieces) {}

  OutputQueue& out() { return out_; }
  const OutputQueue& out() const { return out_; }

  // Room for one more reply to a command, and for all that may come unasked after it.
  bool HasRoomForReply() const { return out_.HasRoom(kKeptReplies * kHeaderBytes, kKeptReplies); }
  void WriteReply(CommandKind kind, const Completion& completion) {
    C::EncodeCompletion(kind, completion, HeaderOut(out_.Copy(kHeaderBytes), kHeaderBytes));
  }

  bool HasRoomFor(const TargetRequest& request) const {
    // At most: header, descriptors, each result piece copied or referred to, zeros behind them.
    const size_t pieces = request.result().size() + 2;
    const size_t zeros = C::kSegmentedStreams ? request.writable_bytes / kZeroBytes : 0;
    return out_.HasRoom(
        kKeptReplies * kHeaderBytes + DescriptorBytes(request) + pieces * kCopyBytes,
        kKeptReplies + 2 * pieces + zeros);
  }
  // True when the output refers to the request's pool memory.
  bool WriteResponse(const TargetRequest& request, Completion& completion) {
    const uint32_t used = request.cause == Cause::kOk ? request.used_length() : 0;
    completion.used_length = completion.inline_length = used;
    completion.ndesc = request.num_segments;
    std::byte* header = out_.Copy(kHeaderBytes + DescriptorBytes(request));
    C::EncodeCompletion(CommandKind::kVq, completion, HeaderOut(header, kHeaderBytes));
    if constexpr (C::kSegmentedStreams) EchoDescriptors(request, header + kHeaderBytes);
    bool refers = false;
    if (used > 0) {
      if (request.writable_piece.size_bytes > 0) {
        refers = Write(ConstBuffer(request.writable_piece.data, used));
      } else {
        for (const ConstBuffer& piece : request.result()) Write(piece);
      }
    }
    if constexpr (C::kSegmentedStreams) WriteZeros(request.writable_bytes - used);
    return refers;
  }

 private:
  // Up to here copying is cheaper than one more entry of the vectored write.
  static constexpr size_t kCopyBytes = 256;
  // Late answers, events and refusals: more than the control queue can have outstanding.
  static constexpr size_t kKeptReplies = 2 * kControlQueueSize + 16;

  static size_t DescriptorBytes(const TargetRequest& request) {
    if constexpr (C::kSegmentedStreams) return request.num_segments * C::kDescriptorBytes;
    return 0;
  }

  // As received, with the addresses that known peers send: running offsets into the data.
  static void EchoDescriptors(const TargetRequest& request, std::byte* to) {
    uint64_t offset = 0;
    for (size_t i = 0; i < request.num_segments; ++i, to += C::kDescriptorBytes) {
      const std::span from(request.segments + i * C::kDescriptorBytes, C::kDescriptorBytes);
      C::EchoSegment(from, offset, {to, C::kDescriptorBytes});
      offset += C::DecodeSegment(from).length_bytes;
    }
  }

  bool Write(ConstBuffer piece) {
    if (piece.size_bytes > kCopyBytes) {
      out_.Reference(piece);
      return true;
    }
    std::memcpy(out_.Copy(piece.size_bytes), piece.data, piece.size_bytes);
    return false;
  }
  void WriteZeros(size_t bytes) {
    for (size_t n = 0; bytes > 0; bytes -= n) {
      n = std::min(bytes, kZeros.size());
      Write(ConstBuffer(kZeros.data(), n));
    }
  }

  OutputQueue out_;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_TARGET_RESPONSE_H_
