// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/blk_options.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/limits.h"
#include "devices/blk/blk_wire.h"

namespace vof {
namespace {

bool IsPrintable(char c) { return c >= 0x20 && c < 0x7f; }

absl::Status CheckSerial(const std::string& serial) {
  if (serial.size() > kBlkIdBytes) {
    return absl::InvalidArgumentError(absl::StrCat("serial \"", serial, "\" has ", serial.size(),
                                                   " characters; at most ", kBlkIdBytes,
                                                   " fit into a virtio block id"));
  }
  if (!std::all_of(serial.begin(), serial.end(), IsPrintable)) {
    return absl::InvalidArgumentError("serial has a character that is not printable ASCII");
  }
  return absl::OkStatus();
}

absl::Status CheckRange(const char* name, uint64_t value, uint64_t max) {
  if (value >= 1 && value <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", value, "; it must be between 1 and ", max));
}

}  // namespace

absl::Status ValidateBlkSize(uint64_t size_bytes, uint32_t block_size_bytes) {
  if (size_bytes == 0) return absl::InvalidArgumentError("the disk size is 0 bytes");
  if (const uint64_t rest_bytes = size_bytes % block_size_bytes; rest_bytes != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the disk size of ", size_bytes, " bytes is not a multiple of the block size of ",
        block_size_bytes, " bytes; the next one is ", size_bytes - rest_bytes + block_size_bytes));
  }
  return absl::OkStatus();
}

absl::Status ValidateBlkOptions(const BlkOptions& options, const StoreTraits& traits,
                                uint64_t size_bytes) {
  if (absl::Status s = CheckSerial(options.serial); !s.ok()) return s;
  if (options.block_size_bytes != 512 && options.block_size_bytes != 4096) {
    return absl::InvalidArgumentError(
        absl::StrCat("block size is ", options.block_size_bytes, " bytes; it must be 512 or 4096"));
  }
  if (options.block_size_bytes < traits.alignment_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("block size is ", options.block_size_bytes,
                     " bytes, but the store can only address units of ", traits.alignment_bytes,
                     " bytes; use a block size of 4096, or leave direct I/O off"));
  }
  if (traits.read_only && !options.read_only) {
    return absl::InvalidArgumentError(
        "the store was opened read-only, so the device must be read-only too");
  }
  if (absl::Status s = CheckRange("num_queues", options.num_queues, kMaxQueuesPerInstance);
      !s.ok()) {
    return s;
  }
  if (absl::Status s = CheckRange("max_queue_size", options.max_queue_size, kMaxQueueSize);
      !s.ok()) {
    return s;
  }
  return ValidateBlkSize(size_bytes, options.block_size_bytes);
}

}  // namespace vof
