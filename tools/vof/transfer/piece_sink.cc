// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/transfer/piece_sink.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/vof/transfer/reader_gone.h"
#include "tools/vof/transfer/unique_fd.h"
#include "tools/vof/transfer/zero_runs.h"

namespace vof {

absl::Status PartOfABlockError(uint64_t size_bytes, const Endpoint& endpoint) {
  return absl::InvalidArgumentError(
      absl::StrCat(size_bytes, " bytes are not a multiple of the block size of ", endpoint.name(),
                   ", ", endpoint.block_bytes(), " bytes; --pad fills the last block with zeros"));
}

absl::Status EndpointSink::Put(const Piece& piece, std::span<const std::byte> data) {
  const uint64_t end_bytes = piece.offset_bytes + RoundUp(piece.size_bytes);
  if (end_bytes > room_.size_bytes) {
    return absl::OutOfRangeError(absl::StrCat(
        endpoint_->name(), " is too small: there are ", room_.size_bytes, " bytes from offset ",
        room_.offset_bytes, " to its end, and the input has more"));
  }
  if (last_block_ == LastBlock::kRefuse && piece.size_bytes % endpoint_->block_bytes() != 0) {
    return PartOfABlockError(piece.offset_bytes + piece.size_bytes, *endpoint_);
  }
  touched_ = true;
  uint64_t offset_bytes = room_.offset_bytes + piece.offset_bytes;
  if (piece.is_hole) return PutZeros(offset_bytes, piece.size_bytes);
  while (!data.empty()) {
    const DataRun run = FirstRun(data, endpoint_->zero_run_bytes());
    const absl::Status put = run.is_zero ? PutZeros(offset_bytes, run.size_bytes)
                                         : PutRun(offset_bytes, data.first(run.size_bytes));
    if (!put.ok()) return put;
    offset_bytes += run.size_bytes;
    data = data.subspan(run.size_bytes);
  }
  return absl::OkStatus();
}

absl::Status EndpointSink::PutZeros(uint64_t offset_bytes, uint64_t size_bytes) {
  zero_bytes_ += size_bytes;
  return endpoint_->Zero(offset_bytes, RoundUp(size_bytes));
}

absl::Status EndpointSink::PutRun(uint64_t offset_bytes, std::span<const std::byte> data) {
  if (data.size() % endpoint_->block_bytes() == 0) return endpoint_->Write(offset_bytes, data);
  std::vector<std::byte> padded(RoundUp(data.size()));
  std::copy(data.begin(), data.end(), padded.begin());
  return endpoint_->Write(offset_bytes, padded);
}

absl::Status PipeSink::Put(const Piece& piece, std::span<const std::byte> data) {
  std::unique_lock lock(mutex_);
  turn_.wait(lock, [&] { return stopped_ || next_sequence_ == piece.sequence; });
  if (stopped_) return absl::CancelledError("stopped");
  touched_ = true;
  // Not under the lock, or Stop() would wait for the reader. Nobody else has a turn meanwhile.
  lock.unlock();
  writing_ = true;
  const absl::Status written = piece.is_hole ? WriteZeros(piece.size_bytes) : WriteAll(data);
  writing_ = false;
  if (!written.ok()) return written;
  lock.lock();
  ++next_sequence_;
  turn_.notify_all();
  return absl::OkStatus();
}

void PipeSink::Stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  turn_.notify_all();
}

absl::Status PipeSink::WriteAll(std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t put = write(fd_, data.data(), data.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) {
      pollfd writable{.fd = fd_, .events = POLLOUT, .revents = 0};
      poll(&writable, 1, -1);
      continue;
    }
    if (put < 0 && errno == EPIPE) return ReaderGoneError(name_);
    if (put < 0) return FileError("write", name_, errno);
    data = data.subspan(static_cast<size_t>(put));
  }
  return absl::OkStatus();
}

absl::Status PipeSink::WriteZeros(uint64_t size_bytes) {
  static constexpr std::array<std::byte, 64 << 10> kZeros{};
  while (size_bytes > 0) {
    const size_t now = std::min<uint64_t>(size_bytes, kZeros.size());
    const absl::Status written = WriteAll(std::span(kZeros).first(now));
    if (!written.ok()) return written;
    size_bytes -= now;
  }
  return absl::OkStatus();
}

}  // namespace vof
