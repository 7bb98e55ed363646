// SPDX-License-Identifier: Apache-2.0
//
// A mapping of zeros to lend, read-only unless a fabric has to know it: one physical page behind
// all of it, nothing in the binary.
//
//   absl::StatusOr<std::shared_ptr<const ZeroArea>> zeros = ZeroArea::Create();
//   if (!(*zeros)->LendTo(request, length_bytes)) ...   // 5 pieces make up the largest request
#ifndef VOF_DEVICES_BLK_ZERO_AREA_H_
#define VOF_DEVICES_BLK_ZERO_AREA_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/device/device_request.h"
#include "core/device/lent_memory.h"

namespace vof {

class ZeroArea : public std::enable_shared_from_this<ZeroArea> {
 public:
  static constexpr size_t kSizeBytes = 1u << 20;
  // The largest answer in pieces of zeros, with room for a block id and a status.
  static_assert((kMaxRequestBytes + kSizeBytes - 1) / kSizeBytes + 2 <= kMaxResultPieces);

  static absl::StatusOr<std::shared_ptr<const ZeroArea>> Create();
  ~ZeroArea();
  ZeroArea(const ZeroArea&) = delete;
  ZeroArea& operator=(const ZeroArea&) = delete;

  const std::byte* data() const { return data_; }
  // Adds `length_bytes` of zeros to the result. False when the result has no room for the pieces:
  // it may then hold some of them.
  bool LendTo(DeviceRequest* request, uint64_t length_bytes) const;
  // For fabrics. From then on it is mapped for writing, as adapters want memory, which then has a
  // page for each page. Any thread.
  LentMemory LendMemory() const;

 private:
  explicit ZeroArea(const std::byte* data) : data_(data) {}

  const std::byte* const data_;
};

}  // namespace vof

#endif  // VOF_DEVICES_BLK_ZERO_AREA_H_
