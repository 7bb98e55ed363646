// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/ring_setup.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "absl/strings/str_cat.h"

namespace vof {
namespace {

constexpr Nanoseconds kFirstPause = kNanosecondsPerMillisecond;

std::string LockLimitText() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return "unknown";
  if (limit.rlim_cur == RLIM_INFINITY) return "unlimited";
  return absl::StrCat(limit.rlim_cur >> 10, " KiB");
}

absl::Status SetupError(int error) {
  const std::string what = absl::StrCat("io_uring cannot be set up (errno ", error, "): ");
  switch (error) {
    case ENOMEM:
      return absl::ResourceExhaustedError(absl::StrCat(
          what, "not enough memory that may be locked: RLIMIT_MEMLOCK is ", LockLimitText(),
          " for all rings of this user; raise it (ulimit -l, LimitMEMLOCK= of systemd) or connect "
          "fewer queues"));
    case ENOSYS:
      return absl::UnimplementedError(
          absl::StrCat(what, "the kernel or a sandbox (seccomp) does not offer it"));
    case EPERM:
      return absl::UnimplementedError(
          absl::StrCat(what,
                       "not permitted: see /proc/sys/kernel/io_uring_disabled and the container's "
                       "seccomp profile"));
    case EMFILE:
    case ENFILE:
      return absl::FailedPreconditionError(
          absl::StrCat(what, "too many open files: raise RLIMIT_NOFILE (ulimit -n)"));
    default:
      return absl::FailedPreconditionError(absl::StrCat(what, "unexpected error"));
  }
}

void Sleep(Nanoseconds time) { usleep(static_cast<useconds_t>(time / 1000)); }

}  // namespace

absl::Status MakeRingWithin(Nanoseconds longest_wait, const std::function<int()>& make,
                            const std::function<void(Nanoseconds)>& pause) {
  int result = make();
  Nanoseconds left = longest_wait;
  for (Nanoseconds next = kFirstPause; result == -ENOMEM && left > 0; next *= 2) {
    const Nanoseconds now = std::min(next, left);
    left -= now;
    pause ? pause(now) : Sleep(now);
    result = make();
  }
  return result == 0 ? absl::OkStatus() : SetupError(-result);
}

}  // namespace vof
