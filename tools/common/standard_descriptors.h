// SPDX-License-Identifier: Apache-2.0
//
// Keeps the numbers of stdin, stdout and stderr away from everything else.
//
//   const absl::Status open = OpenStandardDescriptors(ClosedDescriptors::kAreIgnored);
//   if (!open.ok()) return Fail(open);
//
// Whoever starts a program may have closed them. The next file that is opened would then be what
// the program prints to: its log would be written into a disk image.
#ifndef VOF_TOOLS_COMMON_STANDARD_DESCRIPTORS_H_
#define VOF_TOOLS_COMMON_STANDARD_DESCRIPTORS_H_

#include <cstdint>

#include "absl/status/status.h"

namespace vof {

// What reading stdin and writing stdout come to when they were closed.
enum class ClosedDescriptors : uint8_t {
  kAreIgnored,  // nothing to read, and what is written is lost: of a daemon, nobody wanted it
  kFail,        // EBADF, as if they were closed still: of a program whose data go there
};

// Opens /dev/null in the place of each of descriptors 0 to 2 that is closed; programs that this one
// starts inherit it. What is written to stderr is lost in any case. To be called before anything
// else is opened and before there are other threads. After an error the program must end without
// having opened anything.
absl::Status OpenStandardDescriptors(ClosedDescriptors closed);

}  // namespace vof

#endif  // VOF_TOOLS_COMMON_STANDARD_DESCRIPTORS_H_
