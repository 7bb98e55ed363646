// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/transfer/piece_source.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "tools/vof/transfer/unique_fd.h"

namespace vof {

absl::StatusOr<bool> PiecePlanner::Next(Piece* piece) {
  const std::lock_guard lock(mutex_);
  const uint64_t position = next_.offset_bytes;
  if (stopped_ || position >= range_.size_bytes) return false;

  const uint64_t source_offset = range_.offset_bytes + position;
  if (source_offset >= extent_.end_bytes) {
    absl::StatusOr<Extent> extent = endpoint_->ExtentAt(source_offset);
    if (!extent.ok()) return extent.status();
    extent_ = *extent;
  }
  *piece = next_;
  piece->is_hole = extent_.is_hole;
  piece->size_bytes =
      PieceSize(limits_, {.position_bytes = position, .end_bytes = range_.size_bytes},
                extent_.end_bytes - range_.offset_bytes, &piece->is_hole);
  next_.offset_bytes += piece->size_bytes;
  ++next_.sequence;
  return true;
}

absl::StatusOr<bool> RangeSource::Next(Piece* piece, std::span<std::byte> buffer) {
  absl::StatusOr<bool> more = planner_.Next(piece);
  if (!more.ok() || !*more || piece->is_hole) return more;
  const absl::Status read =
      endpoint_->Read(start_bytes_ + piece->offset_bytes, buffer.first(piece->size_bytes));
  if (!read.ok()) return read;
  return true;
}

absl::StatusOr<bool> PipeSource::Next(Piece* piece, std::span<std::byte> buffer) {
  const std::lock_guard lock(mutex_);
  const size_t wanted = std::min<uint64_t>(left_bytes_, limits_.data_bytes);
  const absl::StatusOr<size_t> got = Fill(buffer.first(wanted));
  if (!got.ok()) return got.status();
  if (*got == 0) return false;
  *piece = next_;
  piece->size_bytes = *got;
  next_.offset_bytes += *got;
  ++next_.sequence;
  left_bytes_ -= *got;
  return true;
}

absl::StatusOr<size_t> PipeSource::Fill(std::span<std::byte> buffer) {
  constexpr int kStopCheckMs = 100;
  size_t filled = 0;
  while (filled < buffer.size() && !stopped_) {
    pollfd readable{.fd = fd_, .events = POLLIN, .revents = 0};
    const int ready = poll(&readable, 1, kStopCheckMs);
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    const ssize_t got = read(fd_, buffer.data() + filled, buffer.size() - filled);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return FileError("read", name_, errno);
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  return stopped_ ? 0 : filled;
}

}  // namespace vof
