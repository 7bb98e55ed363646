// SPDX-License-Identifier: Apache-2.0
//
// Whether a disk that `vof bench --verify` is to read was stamped in blocks of the same size.
//
//   if (absl::Status other = CheckStampedSize(client, options); !other.ok()) return other;
#ifndef VOF_TOOLS_VOF_BENCH_STAMPED_SIZE_H_
#define VOF_TOOLS_VOF_BENCH_STAMPED_SIZE_H_

#include "absl/status/status.h"
#include "devices/blk/client/blk_client.h"
#include "tools/vof/bench/bench_options.h"

namespace vof {

// kInvalidArgument, with the size to ask for: the disk begins with a sound block of another size,
// and in blocks of `options.block_bytes` all of it would look damaged. OK when it is anything else,
// or cannot be read: the benchmark tells that better. Blocks; not on a reactor's thread.
absl::Status CheckStampedSize(BlkClient* client, const BenchOptions& options);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_BENCH_STAMPED_SIZE_H_
