// SPDX-License-Identifier: Apache-2.0
//
// Moves the pieces of a source into a sink, many at a time; and compares two ranges the same way.
//
//   TransferCounts counts;
//   absl::Status moved = RunTransfer(&source, &sink, {.depth = 16, .tick = [&](uint64_t done) { ...
//   }}, &counts);
#ifndef VOF_TOOLS_VOF_TRANSFER_TRANSFER_H_
#define VOF_TOOLS_VOF_TRANSFER_TRANSFER_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/vof/transfer/endpoint.h"
#include "tools/vof/transfer/piece_plan.h"
#include "tools/vof/transfer/piece_sink.h"
#include "tools/vof/transfer/piece_source.h"

namespace vof {

struct TransferOptions {
  int depth = 16;  // pieces in flight, and threads
  PieceLimits limits = {};
  // Called every 200 ms on the caller's thread with the bytes done so far; false stops. May be
  // empty.
  std::function<bool(uint64_t done_bytes)> tick = {};
  // After `tick` stopped it: so many pieces are not answered yet, and are waited for. Once; may be
  // empty.
  std::function<void(int num_pieces)> on_slow_stop = {};
};

struct TransferCounts {
  uint64_t bytes = 0;       // moved or compared, zeros included
  uint64_t zero_bytes = 0;  // not stored because they are zeros
  // Moved, or found equal, from the start on without a gap; `bytes` may lie behind one.
  uint64_t prefix_bytes = 0;
  bool all_moved = false;  // an error that follows is one of making them durable
  bool touched = false;    // something may have been written, even if `bytes` is 0
};

// Ends with PieceSink::Finish. `counts` is valid after an error, too: what was done before it.
// kCancelled when `tick` stopped it or the reader of a pipe went away.
absl::Status RunTransfer(PieceSource* source, PieceSink* sink, const TransferOptions& options,
                         TransferCounts* counts);

// The first offset, from the start of the ranges, at which `size_bytes` of the two differ; nothing
// when they are equal. `counts` is valid after an error, too.
absl::StatusOr<std::optional<uint64_t>> FindDifference(Endpoint* a, Endpoint* b,
                                                       uint64_t size_bytes,
                                                       const TransferOptions& options,
                                                       TransferCounts* counts);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TRANSFER_TRANSFER_H_
