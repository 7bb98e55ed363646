// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/epoll_set.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace vof {
namespace {

class EpollSetTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(epoll_.Open().ok()); }
  static int ReadableDescriptor() { return eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC); }

  EpollSet epoll_;
  int first_ = 0;  // targets
  int second_ = 0;
};

TEST_F(EpollSetTest, ReportsTheTargetWhileWatched) {
  const int fd = ReadableDescriptor();
  EXPECT_TRUE(epoll_.Wait(0).empty());
  ASSERT_TRUE(epoll_.Set(fd, EPOLLIN, &first_).ok());
  ASSERT_TRUE(epoll_.Set(fd, EPOLLIN, &first_).ok());
  ASSERT_EQ(epoll_.Wait(0).size(), 1u);
  EXPECT_EQ(EpollSet::TargetOf(epoll_.Wait(0)[0]), &first_);
  ASSERT_TRUE(epoll_.Set(fd, 0, &first_).ok());
  EXPECT_TRUE(epoll_.Wait(0).empty());
  ASSERT_TRUE(epoll_.Set(fd, EPOLLIN | EPOLLOUT, &first_).ok());
  EXPECT_EQ(epoll_.Wait(0)[0].events, uint32_t{EPOLLIN | EPOLLOUT});
  epoll_.Clear(fd, &first_);
  EXPECT_TRUE(epoll_.Wait(0).empty());
  close(fd);
}

TEST_F(EpollSetTest, NumberThatComesBackBelongsToItsNewTarget) {
  const int fd = ReadableDescriptor();
  ASSERT_TRUE(epoll_.Set(fd, EPOLLIN, &first_).ok());
  close(fd);
  const int again = ReadableDescriptor();
  ASSERT_EQ(again, fd);
  ASSERT_TRUE(epoll_.Set(again, EPOLLIN, &second_).ok());
  epoll_.Clear(fd, &first_);  // late: must not take it from the new one
  ASSERT_EQ(epoll_.Wait(0).size(), 1u);
  EXPECT_EQ(EpollSet::TargetOf(epoll_.Wait(0)[0]), &second_);
  close(again);
}

TEST_F(EpollSetTest, BadDescriptorsAreErrors) {
  EXPECT_FALSE(epoll_.Set(-1, EPOLLIN, &first_).ok());
  EXPECT_FALSE(epoll_.Set(2'000'000'000, EPOLLIN, &first_).ok());
  epoll_.Clear(-1, &first_);
  epoll_.Clear(2'000'000'000, &first_);
}

}  // namespace
}  // namespace vof
