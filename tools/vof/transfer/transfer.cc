// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/transfer/transfer.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>

#include "tools/vof/transfer/moved_bytes.h"
#include "tools/vof/transfer/workers.h"

namespace vof {
namespace {

constexpr uint64_t kNoDifference = std::numeric_limits<uint64_t>::max();

std::function<bool()> TickOf(const TransferOptions& options, std::function<uint64_t()> done_bytes) {
  if (!options.tick) return nullptr;
  return [&options, done_bytes = std::move(done_bytes)] { return options.tick(done_bytes()); };
}

// What ends well although somebody wanted to stop it has ended well.
absl::Status Finish(PieceSink* sink, const TransferOptions& options, uint64_t done_bytes) {
  absl::Status finished;
  (void)RunWorkers(1, [&] { return finished = sink->Finish(); },
                   {.stop = [] {},
                    .tick = TickOf(options, [&] { return done_bytes; }),
                    .on_slow_stop = options.on_slow_stop});
  return finished;
}

// Filling megabytes with zeros takes longer than a small transfer.
std::unique_ptr<std::byte[]> Uninitialized(size_t size_bytes) {
  return std::unique_ptr<std::byte[]>(new std::byte[size_bytes]);
}

absl::Status MovePieces(PieceSource* source, PieceSink* sink, uint32_t buffer_bytes,
                        MovedBytes* moved) {
  const std::unique_ptr<std::byte[]> memory = Uninitialized(buffer_bytes);
  const std::span<std::byte> buffer(memory.get(), buffer_bytes);
  Piece piece;
  while (true) {
    const absl::StatusOr<bool> more = source->Next(&piece, buffer);
    if (!more.ok()) return more.status();
    if (!*more) return absl::OkStatus();
    const size_t data_bytes = piece.is_hole ? 0 : piece.size_bytes;
    const absl::Status put = sink->Put(piece, buffer.first(data_bytes));
    if (!put.ok()) return put;
    moved->Add(piece);
  }
}

// The comparison of one pair of endpoints, shared by its workers.
class Comparison {
 public:
  Comparison(Endpoint* a, Endpoint* b, uint64_t size_bytes, const PieceLimits& limits)
      : a_(a), b_(b), limits_(limits), planner_(a, {.size_bytes = size_bytes}, limits) {}

  absl::Status Work();
  void Stop() { planner_.Stop(); }
  uint64_t done_bytes() const { return compared_.total_bytes(); }
  // From the start on, without a gap.
  uint64_t equal_bytes() const { return std::min(compared_.prefix_bytes(), first_difference_); }
  uint64_t first_difference() const { return first_difference_; }

 private:
  absl::Status CompareHole(const Piece& piece, std::span<std::byte> a, std::span<std::byte> b);
  absl::Status CompareData(uint64_t offset_bytes, std::span<std::byte> a, std::span<std::byte> b);
  void Report(uint64_t offset_bytes);

  Endpoint* const a_;
  Endpoint* const b_;
  const PieceLimits limits_;
  PiecePlanner planner_;
  MovedBytes compared_;
  std::mutex mutex_;
  uint64_t first_difference_ = kNoDifference;
};

absl::Status Comparison::Work() {
  const std::unique_ptr<std::byte[]> memory = Uninitialized(size_t{2} * limits_.data_bytes);
  const std::span<std::byte> a(memory.get(), limits_.data_bytes);
  const std::span<std::byte> b(memory.get() + limits_.data_bytes, limits_.data_bytes);
  Piece piece;
  while (true) {
    const absl::StatusOr<bool> more = planner_.Next(&piece);
    if (!more.ok()) return more.status();
    if (!*more) return absl::OkStatus();
    const absl::Status compared =
        piece.is_hole
            ? CompareHole(piece, a, b)
            : CompareData(piece.offset_bytes, a.first(piece.size_bytes), b.first(piece.size_bytes));
    if (!compared.ok()) return compared;
    compared_.Add(piece);
  }
}

absl::Status Comparison::CompareHole(const Piece& piece, std::span<std::byte> a,
                                     std::span<std::byte> b) {
  const uint64_t end_bytes = piece.offset_bytes + piece.size_bytes;
  for (uint64_t at = piece.offset_bytes; at < end_bytes;) {
    const absl::StatusOr<Extent> other = b_->ExtentAt(at);
    if (!other.ok()) return other.status();
    uint64_t step_bytes = std::min(other->end_bytes, end_bytes) - at;
    if (!other->is_hole) {
      step_bytes = std::min<uint64_t>(step_bytes, limits_.data_bytes);
      const absl::Status compared = CompareData(at, a.first(step_bytes), b.first(step_bytes));
      if (!compared.ok()) return compared;
    }
    at += step_bytes;
  }
  return absl::OkStatus();
}

absl::Status Comparison::CompareData(uint64_t offset_bytes, std::span<std::byte> a,
                                     std::span<std::byte> b) {
  if (const absl::Status read = a_->Read(offset_bytes, a); !read.ok()) return read;
  if (const absl::Status read = b_->Read(offset_bytes, b); !read.ok()) return read;
  if (std::memcmp(a.data(), b.data(), a.size()) == 0) return absl::OkStatus();
  const auto where = std::mismatch(a.begin(), a.end(), b.begin());
  Report(offset_bytes + static_cast<uint64_t>(where.first - a.begin()));
  return absl::OkStatus();
}

void Comparison::Report(uint64_t offset_bytes) {
  // Pieces are planned in order: all that lie before this one are with some worker already.
  planner_.Stop();
  const std::lock_guard lock(mutex_);
  first_difference_ = std::min(first_difference_, offset_bytes);
}

}  // namespace

absl::Status RunTransfer(PieceSource* source, PieceSink* sink, const TransferOptions& options,
                         TransferCounts* counts) {
  MovedBytes moved;
  const absl::Status status = RunWorkers(
      options.depth, [&] { return MovePieces(source, sink, options.limits.data_bytes, &moved); },
      {.stop =
           [&] {
             source->Stop();
             sink->Stop();
           },
       .tick = TickOf(options, [&] { return moved.total_bytes(); }),
       .on_slow_stop = options.on_slow_stop});
  counts->bytes = moved.total_bytes();
  counts->prefix_bytes = moved.prefix_bytes();
  counts->zero_bytes = sink->zero_bytes();
  counts->all_moved = status.ok();
  counts->touched = sink->touched();
  return status.ok() ? Finish(sink, options, counts->bytes) : status;
}

absl::StatusOr<std::optional<uint64_t>> FindDifference(Endpoint* a, Endpoint* b,
                                                       uint64_t size_bytes,
                                                       const TransferOptions& options,
                                                       TransferCounts* counts) {
  Comparison comparison(a, b, size_bytes, options.limits);
  const absl::Status compared =
      RunWorkers(options.depth, [&] { return comparison.Work(); },
                 {.stop = [&] { comparison.Stop(); },
                  .tick = TickOf(options, [&] { return comparison.done_bytes(); }),
                  .on_slow_stop = options.on_slow_stop});
  counts->bytes = comparison.done_bytes();
  counts->prefix_bytes = comparison.equal_bytes();
  if (!compared.ok()) return compared;
  if (comparison.first_difference() == kNoDifference) return std::optional<uint64_t>();
  return std::optional<uint64_t>(comparison.first_difference());
}

}  // namespace vof
