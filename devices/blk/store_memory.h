// SPDX-License-Identifier: Apache-2.0
//
// A disk in memory. Reads lend its pages (no copy), writes are one copy, discards give pages back,
// except while a fabric has them registered.
//
//   absl::StatusOr<std::shared_ptr<BlockStore>> store = MakeMemoryStore({.size_bytes = 1ull <<
//   30});
//
// A block that is overwritten or discarded while an earlier read of it is still being sent may go
// out with the new bytes: the two were in flight together, as far as the initiator can tell.
#ifndef VOF_DEVICES_BLK_STORE_MEMORY_H_
#define VOF_DEVICES_BLK_STORE_MEMORY_H_

#include <memory>

#include "absl/status/statusor.h"
#include "devices/blk/block_store.h"
#include "devices/blk/memory_arena.h"
#include "devices/blk/memory_queue.h"

namespace vof {

absl::StatusOr<std::shared_ptr<BlockStore>> MakeMemoryStore(const MemoryArena::Options& options,
                                                            const MemoryZeroing& zeroing = {});

}  // namespace vof

#endif  // VOF_DEVICES_BLK_STORE_MEMORY_H_
