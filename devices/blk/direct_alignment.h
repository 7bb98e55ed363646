// SPDX-License-Identifier: Apache-2.0
//
// What direct I/O (O_DIRECT) on an open file asks of buffers and offsets.
//
//   absl::StatusOr<DirectAlignment> alignment = FindDirectAlignment(fd);   // opened with O_DIRECT
#ifndef VOF_DEVICES_BLK_DIRECT_ALIGNMENT_H_
#define VOF_DEVICES_BLK_DIRECT_ALIGNMENT_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace vof {

struct DirectAlignment {
  uint32_t memory_bytes = 1;    // addresses
  uint32_t offset_bytes = 512;  // offsets and lengths
};

// Asks the kernel (statx, Linux 6.1), else finds out by reading. An error when the file cannot do
// direct I/O, or asks for more than 4096.
absl::StatusOr<DirectAlignment> FindDirectAlignment(int fd);

}  // namespace vof

#endif  // VOF_DEVICES_BLK_DIRECT_ALIGNMENT_H_
