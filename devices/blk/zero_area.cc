// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/zero_area.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "absl/status/status.h"

namespace vof {

absl::StatusOr<std::shared_ptr<const ZeroArea>> ZeroArea::Create() {
  void* data =
      mmap(nullptr, kSizeBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return absl::ErrnoToStatus(errno, "cannot map 1 MiB of zeros");
  return std::shared_ptr<const ZeroArea>(new ZeroArea(static_cast<const std::byte*>(data)));
}

ZeroArea::~ZeroArea() { munmap(const_cast<std::byte*>(data_), kSizeBytes); }

LentMemory ZeroArea::LendMemory() const {
  auto* data = const_cast<std::byte*>(data_);
  if (mprotect(data, kSizeBytes, PROT_READ | PROT_WRITE) != 0) return {};
  return {.ranges = {MutableBuffer(data, kSizeBytes)}, .keep = {shared_from_this()}};
}

bool ZeroArea::LendTo(DeviceRequest* request, uint64_t length_bytes) const {
  while (length_bytes > 0) {
    const size_t piece_bytes = std::min<uint64_t>(length_bytes, kSizeBytes);
    if (!request->AddResult(ConstBuffer(data_, piece_bytes))) return false;
    length_bytes -= piece_bytes;
  }
  return true;
}

}  // namespace vof
