// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/bench/stamped_size.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/common/size.h"
#include "tools/vof/bench/block_stamp.h"

namespace vof {
namespace {

// What is above no benchmark writes: a request holds less on every fabric.
constexpr uint32_t kMaxStampedBytes = 64u << 20;

}  // namespace

absl::Status CheckStampedSize(BlkClient* client, const BenchOptions& options) {
  if (!options.verify || options.access.writes()) return absl::OkStatus();
  // Every run stamps from offset 0 on, whatever its queues and its order.
  std::vector<std::byte> block(options.block_bytes);
  if (!client->Read(0, block).ok()) return absl::OkStatus();
  if (CheckStampOfAnyRun(0, block) != StampError::kBlockBytes) return absl::OkStatus();
  const uint32_t stamped_bytes = StampedBytes(block);
  const BlkInfo info = client->info();
  if (stamped_bytes > kMaxStampedBytes || stamped_bytes > info.capacity_bytes ||
      stamped_bytes % info.block_bytes != 0) {
    return absl::OkStatus();
  }
  // Only the whole block tells a stamp from a header that was damaged.
  block.resize(stamped_bytes);
  if (!client->Read(0, block).ok() || CheckStampOfAnyRun(0, block) != StampError::kNone) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      options.uri, " was written with blocks of ", stamped_bytes,
      " bytes, and can only be checked in the same: --bs ", FormatSize(stamped_bytes)));
}

}  // namespace vof
