// SPDX-License-Identifier: Apache-2.0
//
// When two signals are one.
//
//   if (now - first_signal_at < kSameSignal) return;
//
// timeout(1) sends its signal to a program and once more to the group that it is in; a terminal may
// do alike. What comes later is somebody who wants the program to end at once.
#ifndef VOF_TOOLS_COMMON_SAME_SIGNAL_H_
#define VOF_TOOLS_COMMON_SAME_SIGNAL_H_

#include "core/base/time.h"

namespace vof {

inline constexpr Nanoseconds kSameSignal = Milliseconds(250);

}  // namespace vof

#endif  // VOF_TOOLS_COMMON_SAME_SIGNAL_H_
