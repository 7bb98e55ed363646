// SPDX-License-Identifier: Apache-2.0
//
// A disk in a regular file or on a block device, through io_uring; by plain calls where a sandbox
// forbids that, unless FileStoreOptions::io says otherwise.
//
//   absl::StatusOr<std::shared_ptr<BlockStore>> store =
//       MakeFileStore({.path = "/var/disk.img", .direct = true, .create_size_bytes = 1ull << 30});
//
// Each queue has a ring of its own, made when it is opened, on its reactor: kLongestRingWait
// (ring_setup.h) bounds for how long that may block. The epoch is drawn anew whenever the file is
// opened: what was acknowledged but not flushed before the last process ended may be lost. After a
// failed flush all later ones fail, until the file is opened again.
//
// A shrink waits for changes under way behind the new end (FileReach): call it from a thread that
// serves no queue of this disk, or be ready to try again. What a grown regular file gains reads as
// zeros; a block device, or a file whose length somebody else changes, shows what is there.
#ifndef VOF_DEVICES_BLK_STORE_FILE_H_
#define VOF_DEVICES_BLK_STORE_FILE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "devices/blk/block_store.h"
#include "devices/blk/file_handle.h"

namespace vof {

// Errors name the path, what failed and what to do: missing, locked by another target, no direct
// I/O, no io_uring.
absl::StatusOr<std::shared_ptr<BlockStore>> MakeFileStore(const FileStoreOptions& options);

}  // namespace vof

#endif  // VOF_DEVICES_BLK_STORE_FILE_H_
