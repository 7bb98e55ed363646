// SPDX-License-Identifier: Apache-2.0
//
// How an initiator's messages are laid into an OutputQueue: Connect, and requests of a virtqueue.
//
//   AppendConnect<V5>(connect, body, output);
//   if (HasRoomForRequest<C>(*request, output)) AppendRequest<C>(*request, output);
//
// Small pieces are copied behind the command, so that the header of a device request travels in the
// same piece as the command and a batch of small requests is one piece; large ones are referenced.
#ifndef VOF_CORE_ENGINE_INITIATOR_OUTPUT_H_
#define VOF_CORE_ENGINE_INITIATOR_OUTPUT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/base/buffer.h"
#include "core/base/limits.h"
#include "core/engine/initiator_request.h"
#include "core/engine/output_queue.h"
#include "core/wire/codec.h"
#include "core/wire/connect_body.h"

namespace vof {

// Up to here a copy costs less than an entry of a vectored write.
inline constexpr size_t kCopiedPieceBytes = 256;
// At most this much of one request is copied, so that many small pieces cannot fill the staging
// ring.
inline constexpr size_t kCopiedRequestBytes = 4096;
// The largest request of `ref`: a command and kMaxSegments descriptors of 24 bytes, and what is
// copied.
inline constexpr size_t kInitiatorStagingBytes = 64u << 10;
static_assert(kInitiatorStagingBytes >=
              kHeaderBytes + kMaxSegments * size_t{24} + kCopiedRequestBytes);
// A piece for each segment and one for the command; the rest is room for a batch.
inline constexpr size_t kInitiatorPieces = 2048;
static_assert(kInitiatorPieces > kMaxSegments + 1);

inline HeaderOut HeaderAt(std::byte* place) {
  return HeaderOut(place, static_cast<size_t>(kHeaderBytes));
}

// `output` is empty. The error is CheckName's (connect_body.h), nothing is appended then.
template <Codec C>
WireError AppendConnect(const Command& connect, const ConnectBody& body, OutputQueue& output) {
  std::byte encoded[kConnectBodyBytes];
  const WireError error = EncodeConnectBody(C::kDialect, body, ConnectBodyOut(encoded));
  if (error != WireError::kNone) return error;
  C::EncodeCommand(connect, HeaderAt(output.Copy(kHeaderBytes)));
  if constexpr (C::kSegmentedStreams) {
    C::EncodeSegment(Segment{.length_bytes = kConnectBodyBytes},
                     {output.Copy(C::kDescriptorBytes), C::kDescriptorBytes});
  }
  std::memcpy(output.Copy(kConnectBodyBytes), encoded, kConnectBodyBytes);
  return WireError::kNone;
}

namespace initiator_internal {

// Fills in one descriptor for each piece that is not empty; returns how many.
template <Codec C>
uint16_t EncodeDescriptors(const InitiatorRequest& request, std::byte* place) {
  Segment segment;
  const auto encode = [&](size_t length_bytes) {
    if (length_bytes == 0) return;
    segment.length_bytes = static_cast<uint32_t>(length_bytes);
    C::EncodeSegment(segment, {place + segment.id * C::kDescriptorBytes, C::kDescriptorBytes});
    segment.address += length_bytes;
    ++segment.id;
  };
  for (const ConstBuffer& piece : request.readable) encode(piece.size_bytes);
  segment.writable = true;
  for (const MutableBuffer& piece : request.writable) encode(piece.size_bytes);
  return segment.id;
}

inline size_t NumSegments(const InitiatorRequest& request) {
  size_t segments = 0;
  for (const ConstBuffer& piece : request.readable) segments += piece.size_bytes != 0;
  for (const MutableBuffer& piece : request.writable) segments += piece.size_bytes != 0;
  return segments;
}

}  // namespace initiator_internal

// Whether AppendRequest may be called now.
template <Codec C>
bool HasRoomForRequest(const InitiatorRequest& request, const OutputQueue& output) {
  const size_t copied_bytes =
      request.readable_bytes < kCopiedRequestBytes ? request.readable_bytes : kCopiedRequestBytes;
  size_t descriptor_bytes = 0;
  if constexpr (C::kSegmentedStreams) {
    descriptor_bytes = initiator_internal::NumSegments(request) * C::kDescriptorBytes;
  }
  size_t references = 0;
  for (const ConstBuffer& piece : request.readable) references += piece.size_bytes != 0;
  return output.HasRoom(kHeaderBytes + descriptor_bytes + copied_bytes, references);
}

// Appends command, descriptors and the readable bytes; references last as long as the request.
template <Codec C>
void AppendRequest(const InitiatorRequest& request, OutputQueue& output) {
  Command command;
  command.kind = CommandKind::kVq;
  command.command_id = request.command_id;
  command.out_length = request.readable_bytes;
  command.in_length = request.writable_bytes;
  std::byte* header = nullptr;
  if constexpr (C::kSegmentedStreams) {
    const size_t segments = initiator_internal::NumSegments(request);
    header = output.Copy(kHeaderBytes + segments * C::kDescriptorBytes);
    command.ndesc = initiator_internal::EncodeDescriptors<C>(request, header + kHeaderBytes);
  } else {
    header = output.Copy(kHeaderBytes);
  }
  C::EncodeCommand(command, HeaderAt(header));

  size_t copied_bytes = 0;
  for (const ConstBuffer& piece : request.readable) {
    if (piece.size_bytes == 0) continue;
    if (piece.size_bytes > kCopiedPieceBytes ||
        copied_bytes + piece.size_bytes > kCopiedRequestBytes) {
      output.Reference(piece);
      continue;
    }
    std::memcpy(output.Copy(piece.size_bytes), piece.data, piece.size_bytes);
    copied_bytes += piece.size_bytes;
  }
}

}  // namespace vof

#endif  // VOF_CORE_ENGINE_INITIATOR_OUTPUT_H_
