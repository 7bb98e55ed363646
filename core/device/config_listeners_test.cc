// SPDX-License-Identifier: Apache-2.0
#include "core/device/config_listeners.h"

#include <atomic>
#include <thread>

#include "gtest/gtest.h"

namespace vof {
namespace {

TEST(ConfigListenersTest, EachListenerIsCalledOncePerChange) {
  ConfigListeners listeners;
  int first = 0, second = 0;
  const auto a = listeners.Add([&first] { ++first; });
  const auto b = listeners.Add([&second] { ++second; });
  listeners.Notify();
  listeners.Notify();
  EXPECT_EQ(first, 2);
  EXPECT_EQ(second, 2);
}

TEST(ConfigListenersTest, DroppedTokenIsCalledNoMore) {
  ConfigListeners listeners;
  int calls = 0;
  auto token = listeners.Add([&calls] { ++calls; });
  token.reset();
  listeners.Notify();
  EXPECT_EQ(calls, 0);
}

TEST(ConfigListenersTest, ListenerMayDropItself) {
  ConfigListeners listeners;
  int calls = 0;
  std::shared_ptr<void> token;
  token = listeners.Add([&] {
    ++calls;
    token.reset();
  });
  listeners.Notify();
  listeners.Notify();
  EXPECT_EQ(calls, 1);
}

TEST(ConfigListenersTest, TokenMayOutliveTheListeners) {
  std::shared_ptr<void> token;
  {
    ConfigListeners listeners;
    token = listeners.Add([] {});
  }
  token.reset();
}

TEST(ConfigListenersTest, UnsubscribingWaitsForACallInProgress) {
  ConfigListeners listeners;
  std::atomic<bool> in_call = false, may_return = false, dropped = false;
  auto token = listeners.Add([&] {
    in_call = true;
    while (!may_return) std::this_thread::yield();
    EXPECT_FALSE(dropped);
  });
  std::thread notifier([&] { listeners.Notify(); });
  while (!in_call) std::this_thread::yield();
  std::thread dropper([&] {
    token.reset();
    dropped = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(dropped);
  may_return = true;
  notifier.join();
  dropper.join();
  EXPECT_TRUE(dropped);
}

}  // namespace
}  // namespace vof
