// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/mailbox.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <functional>
#include <thread>
#include <vector>

namespace vof {
namespace {

bool Readable(const Mailbox& mailbox, int timeout_ms) {
  pollfd fd{.fd = mailbox.fd(), .events = POLLIN, .revents = 0};
  return poll(&fd, 1, timeout_ms) == 1;
}

TEST(MailboxTest, SignalsOnlyASleeper) {
  Mailbox mailbox;
  ASSERT_TRUE(mailbox.Open().ok());
  mailbox.Post([] {});
  EXPECT_TRUE(mailbox.HasMail());
  EXPECT_FALSE(Readable(mailbox, 0));
  EXPECT_FALSE(mailbox.PrepareToSleep()) << "there is mail";
  std::vector<std::function<void()>> work;
  mailbox.Take(&work);
  EXPECT_EQ(work.size(), 1u);
  EXPECT_FALSE(mailbox.HasMail());
  ASSERT_TRUE(mailbox.PrepareToSleep());
  mailbox.Post([] {});
  mailbox.Post([] {});
  EXPECT_TRUE(Readable(mailbox, 0));
  mailbox.Awake();
  mailbox.ClearSignal();
  EXPECT_FALSE(Readable(mailbox, 0));
  mailbox.Take(&work);
  EXPECT_EQ(work.size(), 3u) << "appended in order";
}

TEST(MailboxTest, WakeEndsASleepWithoutMail) {
  Mailbox mailbox;
  ASSERT_TRUE(mailbox.Open().ok());
  mailbox.Wake();
  EXPECT_FALSE(mailbox.PrepareToSleep());
  ASSERT_TRUE(mailbox.PrepareToSleep());
  mailbox.Wake();
  EXPECT_TRUE(Readable(mailbox, 0));
}

TEST(MailboxTest, SleeperNeverMissesAPoster) {
  Mailbox mailbox;
  ASSERT_TRUE(mailbox.Open().ok());
  constexpr int kMessages = 20'000;
  std::thread poster([&] {
    for (int i = 0; i < kMessages; ++i) mailbox.Post([] {});
  });
  std::vector<std::function<void()>> work;
  while (work.size() < kMessages) {
    if (mailbox.PrepareToSleep()) {
      ASSERT_TRUE(Readable(mailbox, 60'000)) << "slept through a message";
      mailbox.Awake();
      mailbox.ClearSignal();
    }
    if (mailbox.HasMail()) mailbox.Take(&work);
  }
  poster.join();
}

}  // namespace
}  // namespace vof
