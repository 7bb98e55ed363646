// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/client/blk_client_queue.h"

#include <algorithm>
#include <cstddef>

namespace vof {
namespace {

// What no device answers: shows whether the status byte was filled in.
constexpr uint8_t kNoStatus = 0xff;

BlkError ErrorOf(const BlkIo& io) {
  switch (io.request.error) {
    case RequestError::kNone:
      break;
    case RequestError::kRefused:
      return BlkError::kRefused;
    case RequestError::kTooLarge:
      return BlkError::kTooLarge;
    case RequestError::kTimedOut:
      return BlkError::kTimedOut;
    case RequestError::kCancelled:
      return BlkError::kCancelled;
    case RequestError::kClosed:
    case RequestError::kProtocol:
      return BlkError::kLost;
  }
  switch (io.status) {
    case kBlkStatusOk:
      break;
    case kBlkStatusIoError:
      return BlkError::kIoError;
    case kBlkStatusUnsupported:
      return BlkError::kUnsupported;
    default:
      return BlkError::kBadAnswer;
  }
  // The status is the last byte: what is said to be filled must reach it. Without that, whatever
  // has come to lie there is no answer, of a write neither.
  const bool filled = io.request.used_length == io.request.writable_bytes;
  return filled ? BlkError::kNone : BlkError::kBadAnswer;
}

void OnDone(InitiatorRequest* request) {
  auto* io = static_cast<BlkIo*>(request->context);
  io->error = ErrorOf(*io);
  io->done(io);
}

}  // namespace

std::string_view BlkErrorText(BlkError error) {
  switch (error) {
    case BlkError::kNone:
      return "no error";
    case BlkError::kIoError:
      return "the device reported an I/O error";
    case BlkError::kUnsupported:
      return "the device does not support this request";
    case BlkError::kRefused:
      return "the target refused the request";
    case BlkError::kTooLarge:
      return "more than one request may carry";
    case BlkError::kTimedOut:
      return "no answer in time";
    case BlkError::kLost:
      return "the connection ended before the answer";
    case BlkError::kCancelled:
      return "the connection ended before the request was sent";
    case BlkError::kBadAnswer:
      return "the device answered without filling in status and data";
  }
  return "unknown error";
}

void BlkClientQueue::Begin(BlkIo* io, uint32_t type, uint64_t offset_bytes) {
  io->header.type = type;
  io->header.reserved = 0;
  io->header.sector = offset_bytes / kSectorBytes;
  io->status = kNoStatus;
  io->readable[0] = ConstBuffer(&io->header, sizeof(io->header));
}

void BlkClientQueue::Submit(BlkIo* io, size_t num_readable, size_t num_writable, bool fits) {
  io->writable[num_writable] = MutableBuffer(&io->status, 1);
  io->request.readable = {io->readable.data(), num_readable + 1};
  io->request.writable = {io->writable.data(), num_writable + 1};
  // An empty request is refused like one that is too large: the caller hears of it in `done`.
  if (!fits) io->request.readable = {}, io->request.writable = {};
  io->request.done = OnDone;
  io->request.context = io;
  io->request.timeout = io->timeout;
  queue_->Submit(&io->request);
}

// False: `out` has no room.
template <typename Buffer>
bool BlkClientQueue::CutPieces(std::span<const Buffer> pieces, std::span<Buffer> out,
                               size_t* count) const {
  size_t n = 0;
  for (Buffer piece : pieces) {
    while (piece.size_bytes > 0) {
      if (n == out.size()) return false;
      const size_t bytes = largest_segment_bytes_ == 0
                               ? piece.size_bytes
                               : std::min<size_t>(piece.size_bytes, largest_segment_bytes_);
      out[n++] = Buffer(piece.data, bytes);
      piece.data += bytes;
      piece.size_bytes -= bytes;
    }
  }
  *count = n;
  return true;
}

void BlkClientQueue::Read(BlkIo* io, uint64_t offset_bytes, std::span<const MutableBuffer> into) {
  Begin(io, kBlkTypeIn, offset_bytes);
  size_t pieces = 0;
  const bool fits =
      CutPieces<MutableBuffer>(into, std::span(io->writable).first(kBlkIoPieces), &pieces);
  Submit(io, 0, pieces, fits);
}

void BlkClientQueue::Write(BlkIo* io, uint64_t offset_bytes, std::span<const ConstBuffer> data) {
  Begin(io, kBlkTypeOut, offset_bytes);
  size_t pieces = 0;
  const bool fits = CutPieces<ConstBuffer>(data, std::span(io->readable).subspan(1), &pieces);
  Submit(io, pieces, 0, fits);
}

void BlkClientQueue::Flush(BlkIo* io) {
  Begin(io, kBlkTypeFlush, 0);
  Submit(io, 0, 0, true);
}

void BlkClientQueue::Discard(BlkIo* io, uint64_t offset_bytes, uint64_t length_bytes) {
  SubmitRange(io, kBlkTypeDiscard, offset_bytes, length_bytes, 0);
}

void BlkClientQueue::WriteZeroes(BlkIo* io, uint64_t offset_bytes, uint64_t length_bytes,
                                 bool may_unmap) {
  SubmitRange(io, kBlkTypeWriteZeroes, offset_bytes, length_bytes,
              may_unmap ? kBlkSegmentFlagUnmap : 0);
}

void BlkClientQueue::SubmitRange(BlkIo* io, uint32_t type, uint64_t offset_bytes,
                                 uint64_t length_bytes, uint32_t flags) {
  Begin(io, type, 0);
  const uint64_t sectors = length_bytes / kSectorBytes;
  io->segment.sector = offset_bytes / kSectorBytes;
  io->segment.num_sectors = static_cast<uint32_t>(sectors);
  io->segment.flags = flags;
  io->readable[1] = ConstBuffer(&io->segment, sizeof(io->segment));
  Submit(io, 1, 0, sectors <= UINT32_MAX);
}

void BlkClientQueue::GetId(BlkIo* io, std::span<char, kBlkIdBytes> id) {
  Begin(io, kBlkTypeGetId, 0);
  io->writable[0] = MutableBuffer(id.data(), id.size());
  Submit(io, 0, 1, true);
}

}  // namespace vof
