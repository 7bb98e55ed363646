// SPDX-License-Identifier: Apache-2.0
//
// One transfer as a user asks for it, from opening both sides to the flush at the end: what the
// verbs read, write and copy have in common.
//
//   TransferJob job{.source = LocationOf("image"), .destination = LocationOf("tcp://host/disk")};
//   absl::Status done = RunTransferJob(job, {.open_device = ..., .tick = ...}, &summary);
//
// Nothing is created, truncated or written before both sides were found fit for each other.
#ifndef VOF_TOOLS_VOF_TRANSFER_TRANSFER_JOB_H_
#define VOF_TOOLS_VOF_TRANSFER_TRANSFER_JOB_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/time.h"
#include "tools/vof/transfer/endpoint.h"
#include "tools/vof/transfer/location.h"
#include "tools/vof/transfer/transfer.h"

namespace vof {

struct TransferJob {
  Location source;
  Location destination;
  uint64_t source_offset_bytes = 0;
  uint64_t destination_offset_bytes = 0;    // 0 unless the destination is a device
  std::optional<uint64_t> size_bytes = {};  // nothing: to the end of the source
  bool pad_last_block = false;              // otherwise an end within a block is an error
  int depth = 16;
};

struct TransferSummary {
  TransferCounts counts;
  Nanoseconds elapsed = 0;
};

enum class OpenMode : uint8_t { kRead, kWrite };
// Connects to a device; it says in its errors which.
using DeviceOpener =
    std::function<absl::StatusOr<std::unique_ptr<Endpoint>>(const std::string& uri, OpenMode mode)>;
struct TransferHooks {
  DeviceOpener open_device;
  // Both sides are open, bytes will move. May be empty.
  std::function<void()> on_open;
  // Called now and then while bytes move; `total_bytes` 0: not known. False stops. May be empty.
  std::function<bool(uint64_t done_bytes, uint64_t total_bytes, Nanoseconds elapsed)> tick;
  // As in TransferOptions. `waits_for_reader`: of the destination, a pipe that nobody empties.
  std::function<void(int num_pieces, bool waits_for_reader)> on_slow_stop = {};
};

// kInvalidArgument: offset or size do not fit the source or the blocks of the destination, or both
// sides are one device. Of a
// pipe that is known only at its end: what is before it was written then, and the text says so.
// kOutOfRange: the destination is too small. kCancelled: stopped, the destination is incomplete.
absl::Status RunTransferJob(const TransferJob& job, const TransferHooks& hooks,
                            TransferSummary* summary);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TRANSFER_TRANSFER_JOB_H_
