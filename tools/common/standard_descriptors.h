// SPDX-License-Identifier: Apache-2.0
//
// Keeps the numbers of stdin, stdout and stderr away from everything else.
//
//   if (const absl::Status open = OpenStandardDescriptors(); !open.ok()) return Fail(open);
//
// Whoever starts a program may have closed them. The next file that is opened would then be what
// the program prints to: its log would be written into a disk image.
#ifndef VOF_TOOLS_COMMON_STANDARD_DESCRIPTORS_H_
#define VOF_TOOLS_COMMON_STANDARD_DESCRIPTORS_H_

#include "absl/status/status.h"

namespace vof {

// Opens /dev/null in the place of each of descriptors 0 to 2 that is closed; programs that this one
// starts inherit it. To be called before anything else is opened and before there are other
// threads. After an error the program must end without having opened anything.
absl::Status OpenStandardDescriptors();

}  // namespace vof

#endif  // VOF_TOOLS_COMMON_STANDARD_DESCRIPTORS_H_
