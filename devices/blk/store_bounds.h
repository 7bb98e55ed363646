// SPDX-License-Identifier: Apache-2.0
//
// The last check before a store touches its bytes. The device has checked the ranges, but the disk
// may have shrunk since.
//
//   if (!IsInside(*operation, size_bytes)) return StoreStatus::kIoError;
#ifndef VOF_DEVICES_BLK_STORE_BOUNDS_H_
#define VOF_DEVICES_BLK_STORE_BOUNDS_H_

#include <cstdint>

#include "devices/blk/block_store.h"

namespace vof {

// Whether all that it reads or changes lies within a store of this size. No sum wraps.
bool IsInside(const StoreOperation& operation, uint64_t size_bytes);

}  // namespace vof

#endif  // VOF_DEVICES_BLK_STORE_BOUNDS_H_
