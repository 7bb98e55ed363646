// SPDX-License-Identifier: Apache-2.0
//
// Bits of the virtio device status (virtio 1.3, 2.1).
//
//   if ((state.status & virtio_status::kDriverOk) == 0) Answer(Cause::kStatus);
#ifndef VOF_CORE_ENGINE_VIRTIO_STATUS_H_
#define VOF_CORE_ENGINE_VIRTIO_STATUS_H_

#include <cstdint>

namespace vof::virtio_status {

inline constexpr uint32_t kAcknowledge = 1;
inline constexpr uint32_t kDriver = 2;
inline constexpr uint32_t kDriverOk = 4;
inline constexpr uint32_t kFeaturesOk = 8;
inline constexpr uint32_t kNeedsReset = 64;
inline constexpr uint32_t kFailed = 128;
inline constexpr uint32_t kAll =
    kAcknowledge | kDriver | kDriverOk | kFeaturesOk | kNeedsReset | kFailed;

}  // namespace vof::virtio_status

#endif  // VOF_CORE_ENGINE_VIRTIO_STATUS_H_
