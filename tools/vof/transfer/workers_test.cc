// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/transfer/workers.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <string>

namespace vof {
namespace {

// What a target does that does not answer any more.
class Hang {
 public:
  void Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return over_; });
  }
  void End() {
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
};

TEST(WorkersTest, AStopThatWaitsIsTold) {
  Hang hang;
  int told = 0, num_told = 0;
  const absl::Status status = RunWorkers(3,
                                         [&] {
                                           hang.Wait();
                                           return absl::OkStatus();
                                         },
                                         {.stop = [] {},
                                          .tick = [] { return false; },
                                          .on_slow_stop =
                                              [&](int num_running) {
                                                ++told;
                                                num_told = num_running;
                                                hang.End();
                                              }});
  EXPECT_EQ(status, absl::CancelledError("interrupted"));
  EXPECT_EQ(told, 1);
  EXPECT_EQ(num_told, 3);
}

TEST(WorkersTest, WhatFailsAfterAStopWasInterruptedAllTheSame) {
  Hang hang;
  const absl::Status status = RunWorkers(
      1,
      [&] {
        hang.Wait();
        return absl::DeadlineExceededError("no answer");
      },
      {.stop = [] {}, .tick = [] { return false; }, .on_slow_stop = [&](int) { hang.End(); }});
  EXPECT_EQ(status, absl::CancelledError("interrupted; meanwhile: no answer"));
}

TEST(WorkersTest, AStopThatWorksAtOnceIsNotTold) {
  Hang hang;
  bool told = false;
  const absl::Status status = RunWorkers(2,
                                         [&] {
                                           hang.Wait();
                                           return absl::OkStatus();
                                         },
                                         {.stop = [&] { hang.End(); },
                                          .tick = [] { return false; },
                                          .on_slow_stop = [&](int) { told = true; }});
  EXPECT_EQ(status, absl::CancelledError("interrupted"));
  EXPECT_FALSE(told);
}

TEST(WorkersTest, AnErrorIsReturnedAsItIs) {
  const absl::Status status = RunWorkers(4, [] { return absl::DataLossError("bad"); },
                                         {.stop = [] {}, .tick = [] { return true; }});
  EXPECT_EQ(status, absl::DataLossError("bad"));
}

}  // namespace
}  // namespace vof
