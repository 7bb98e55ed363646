// SPDX-License-Identifier: Apache-2.0
//
// Making an io_uring while memory that may be locked is short: how often, for how long, and what to
// tell a person when it does not come.
//
//   absl::Status made = MakeRingWithin(kLongestRingWait, [&] { return io_uring_queue_init(...); });
//
// The kernel takes closed rings apart a little later, and only then gives their memory back to
// RLIMIT_MEMLOCK: whoever opens and closes many in a row may have to wait for that.
#ifndef VOF_DEVICES_BLK_RING_SETUP_H_
#define VOF_DEVICES_BLK_RING_SETUP_H_

#include <functional>

#include "absl/status/status.h"
#include "core/base/time.h"

namespace vof {

// Queues are opened on the reactor that serves others meanwhile.
inline constexpr Nanoseconds kLongestRingWait = 50 * kNanosecondsPerMillisecond;

// `make` returns 0 or a negative errno. It is called again, after a pause that grows, while it says
// -ENOMEM and the pauses add up to no more than `longest_wait`. `pause` is for tests.
// Errors, with the reason and what to do: ResourceExhausted for -ENOMEM, with RLIMIT_MEMLOCK and
// its value; Unimplemented where the kernel or a sandbox does not offer rings; otherwise
// FailedPrecondition.
absl::Status MakeRingWithin(Nanoseconds longest_wait, const std::function<int()>& make,
                            const std::function<void(Nanoseconds)>& pause = nullptr);

}  // namespace vof

#endif  // VOF_DEVICES_BLK_RING_SETUP_H_
