// SPDX-License-Identifier: Apache-2.0
//
// Where a transfer gets its pieces from.
//
//   RangeSource source(endpoint, {.offset_bytes = 0, .size_bytes = n}, limits);   // or PipeSource
//   Piece piece;
//   while (*source.Next(&piece, buffer)) Use(piece, buffer.first(piece.size_bytes));
//
// Many threads call Next at once, each with a buffer of its own; each piece is handed out once.
#ifndef VOF_TOOLS_VOF_TRANSFER_PIECE_SOURCE_H_
#define VOF_TOOLS_VOF_TRANSFER_PIECE_SOURCE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "tools/vof/transfer/endpoint.h"
#include "tools/vof/transfer/piece_plan.h"

namespace vof {

class PieceSource {
 public:
  virtual ~PieceSource() = default;
  // False at the end. A piece that is no hole is in the front of `buffer`, which holds at least the
  // PieceLimits' data_bytes.
  virtual absl::StatusOr<bool> Next(Piece* piece, std::span<std::byte> buffer) = 0;
  // Makes calls that wait return false soon; any thread.
  virtual void Stop() = 0;
};

struct ByteRange {
  uint64_t offset_bytes = 0;
  uint64_t size_bytes = 0;
};

// Cuts a range into pieces without reading it. Thread-safe.
class PiecePlanner {
 public:
  PiecePlanner(Endpoint* endpoint, const ByteRange& range, const PieceLimits& limits)
      : endpoint_(endpoint), range_(range), limits_(limits) {}

  absl::StatusOr<bool> Next(Piece* piece);
  void Stop() { stopped_ = true; }

 private:
  Endpoint* const endpoint_;
  const ByteRange range_;
  const PieceLimits limits_;
  std::atomic<bool> stopped_ = false;

  std::mutex mutex_;
  Piece next_;     // its offset and sequence
  Extent extent_;  // the one that holds it, once that is asked for
};

// A range of an endpoint.
class RangeSource final : public PieceSource {
 public:
  RangeSource(Endpoint* endpoint, const ByteRange& range, const PieceLimits& limits)
      : endpoint_(endpoint), start_bytes_(range.offset_bytes), planner_(endpoint, range, limits) {}

  absl::StatusOr<bool> Next(Piece* piece, std::span<std::byte> buffer) override;
  void Stop() override { planner_.Stop(); }

 private:
  Endpoint* const endpoint_;
  const uint64_t start_bytes_;
  PiecePlanner planner_;
};

// A descriptor that can only be read in order, to its end or to `max_bytes`. It stays the caller's.
class PipeSource final : public PieceSource {
 public:
  PipeSource(std::string name, int fd, uint64_t max_bytes, const PieceLimits& limits)
      : name_(std::move(name)), fd_(fd), limits_(limits), left_bytes_(max_bytes) {}

  absl::StatusOr<bool> Next(Piece* piece, std::span<std::byte> buffer) override;
  void Stop() override { stopped_ = true; }

 private:
  // Fills `buffer` as far as the pipe goes; 0 at its end or when stopped.
  absl::StatusOr<size_t> Fill(std::span<std::byte> buffer);

  const std::string name_;
  const int fd_;
  const PieceLimits limits_;
  std::atomic<bool> stopped_ = false;

  std::mutex mutex_;
  Piece next_;
  uint64_t left_bytes_;
};

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TRANSFER_PIECE_SOURCE_H_
