// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/ring_setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

namespace vof {
namespace {

using ::testing::HasSubstr;

// A kernel that has no memory for the first so many rings.
struct FakeKernel {
  absl::Status Make(Nanoseconds longest_wait) {
    return MakeRingWithin(
        longest_wait,
        [this] {
          ++num_calls;
          if (num_calls > failures) return 0;
          return -error;
        },
        [this](Nanoseconds pause) { pauses.push_back(pause); });
  }
  Nanoseconds waited() const {
    Nanoseconds total = 0;
    for (const Nanoseconds pause : pauses) total += pause;
    return total;
  }

  int failures = 0;
  int error = ENOMEM;
  int num_calls = 0;
  std::vector<Nanoseconds> pauses = {};
};

TEST(RingSetupTest, DoesNotWaitWhenThereIsMemory) {
  FakeKernel kernel;
  EXPECT_TRUE(kernel.Make(kLongestRingWait).ok());
  EXPECT_EQ(kernel.num_calls, 1);
  EXPECT_EQ(kernel.waited(), 0);
}

TEST(RingSetupTest, WaitsForMemoryThatComesBack) {
  FakeKernel kernel{.failures = 3};
  EXPECT_TRUE(kernel.Make(kLongestRingWait).ok());
  EXPECT_EQ(kernel.num_calls, 4);
  EXPECT_EQ(kernel.waited(), 7 * kNanosecondsPerMillisecond);
}

TEST(RingSetupTest, GivesUpWhenTheTimeIsOverAndSaysWhatToDo) {
  FakeKernel kernel{.failures = 1'000'000};
  const absl::Status status = kernel.Make(kLongestRingWait);
  EXPECT_EQ(kernel.waited(), kLongestRingWait);
  EXPECT_LE(kernel.num_calls, 10);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  const std::string message(status.message());
  EXPECT_THAT(message, HasSubstr("RLIMIT_MEMLOCK is "));
  EXPECT_THAT(message, HasSubstr("ulimit -l"));
}

TEST(RingSetupTest, DoesNotWaitForWhatTimeDoesNotCure) {
  for (const int error : {ENOSYS, EPERM, EMFILE, EINVAL}) {
    FakeKernel kernel{.failures = 1, .error = error};
    const absl::Status status = kernel.Make(kLongestRingWait);
    const bool is_offered = error != ENOSYS && error != EPERM;
    EXPECT_EQ(status.code(),
              is_offered ? absl::StatusCode::kFailedPrecondition : absl::StatusCode::kUnimplemented)
        << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::to_string(error)));
    EXPECT_EQ(kernel.waited(), 0);
  }
}

}  // namespace
}  // namespace vof
