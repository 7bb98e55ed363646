// SPDX-License-Identifier: Apache-2.0
//
// A store that drops what is written and reads as zeros: what remains is the cost of everything
// around it.
//
//   absl::StatusOr<std::shared_ptr<BlockStore>> store = MakeNullStore(256ull << 30);
#ifndef VOF_DEVICES_BLK_STORE_NULL_H_
#define VOF_DEVICES_BLK_STORE_NULL_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "devices/blk/block_store.h"

namespace vof {

absl::StatusOr<std::shared_ptr<BlockStore>> MakeNullStore(uint64_t size_bytes);

}  // namespace vof

#endif  // VOF_DEVICES_BLK_STORE_NULL_H_
