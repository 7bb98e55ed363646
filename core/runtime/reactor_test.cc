// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/reactor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/runtime/connection.h"

namespace vof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A connection whose answers a test sets.
class FakeConnection final : public Connection {
 public:
  struct State {
    int polls = 0;
    int timers = 0;
    int sleeps = 0;
    std::atomic<bool> destroyed = false;
    bool closed = false;
    bool finished = false;
    std::atomic<bool> held = false;  // by its device: does not finish when it is closed
    PollResult result = PollResult::kIdle;
    MonotonicTime deadline = kInfiniteFuture;
    WaitSet wait;
    bool may_sleep = true;
    std::function<void()> on_poll;
    std::function<void()> wake;
  };

  explicit FakeConnection(State* state) : state_(state) {}
  ~FakeConnection() override { state_->destroyed = true; }

  PollResult Poll(MonotonicTime, MutableBuffer scratch) override {
    EXPECT_GE(scratch.size_bytes, kScratchBytes);
    ++state_->polls;
    if (state_->on_poll) state_->on_poll();
    return state_->result;
  }
  bool PrepareToSleep(WaitSet* wait) override {
    ++state_->sleeps;
    *wait = state_->wait;
    return state_->may_sleep;
  }
  MonotonicTime NextDeadline() const override { return state_->deadline; }
  void OnTimer(MonotonicTime now) override {
    EXPECT_GE(now, state_->deadline);
    ++state_->timers;
    state_->deadline = kInfiniteFuture;
  }
  void Close(CloseReason, MonotonicTime) override { state_->closed = state_->finished = true; }
  bool finished() const override { return state_->finished && !state_->held; }
  std::string Describe() const override { return "fake"; }
  void SetWake(std::function<void()> wake) override { state_->wake = std::move(wake); }

 private:
  State* const state_;
};

std::unique_ptr<Reactor> MakeReactor(const ReactorOptions& options = {}) {
  absl::StatusOr<std::unique_ptr<Reactor>> reactor = Reactor::Create(options);
  EXPECT_TRUE(reactor.ok()) << reactor.status();
  return *std::move(reactor);
}

Connection* AddFake(Reactor& reactor, FakeConnection::State* state) {
  auto connection = std::make_unique<FakeConnection>(state);
  Connection* raw = connection.get();
  reactor.Add(std::move(connection));
  return raw;
}

class ReactorTest : public testing::Test {
 protected:
  // Outlives the reactor of the test body.
  FakeConnection::State& NewState() { return states_.emplace_back(); }

  std::deque<FakeConnection::State> states_;
};

TEST_F(ReactorTest, RefusesACpuThatIsNotThere) {
  const auto reactor = Reactor::Create({.cpu = 100'000});
  ASSERT_FALSE(reactor.ok());
  EXPECT_THAT(std::string(reactor.status().message()), HasSubstr("CPU 100000"));
}

TEST_F(ReactorTest, RefusesAPoolThatHasNoAddressSpace) {
  const auto reactor = Reactor::Create({.pool_bytes = size_t{1} << 60});
  ASSERT_TRUE(absl::IsResourceExhausted(reactor.status())) << reactor.status();
  EXPECT_THAT(std::string(reactor.status().message()), HasSubstr("1152921504606846976 bytes"));
}

// An idle queue that has to be polled must not cost a busy one half of each turn.
TEST_F(ReactorTest, PollsWhatIsQuietAndCannotSleepNowAndThen) {
  auto reactor = MakeReactor();
  FakeConnection::State& quiet = NewState();
  quiet.may_sleep = false;
  Connection* const connection = AddFake(*reactor, &quiet);
  FakeConnection::State& busy = NewState();
  busy.result = PollResult::kProgress;
  AddFake(*reactor, &busy);
  reactor->RunOnce(0);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // style: allow(sleep) quiet for long
  reactor->RunOnce(0);
  const int polls = quiet.polls, busy_polls = busy.polls;
  for (int i = 0; i < 160; ++i) reactor->RunOnce(0);
  EXPECT_EQ(busy.polls, busy_polls + 160);
  EXPECT_EQ(quiet.polls, polls + 10);
  reactor->Wake(connection);
  reactor->RunOnce(0);
  EXPECT_GT(quiet.polls, polls + 10) << "it was woken";
  quiet.result = PollResult::kProgress;
  for (int i = 0; i < 16; ++i) reactor->RunOnce(0);
  const int moving = quiet.polls;
  for (int i = 0; i < 16; ++i) reactor->RunOnce(0);
  EXPECT_EQ(quiet.polls, moving + 16) << "it moves again";
}

TEST_F(ReactorTest, RunsPostedWorkInOrderAndStops) {
  auto reactor = MakeReactor();
  std::thread thread([&] { reactor->Run(); });
  std::vector<int> seen;
  for (int i = 0; i < 100; ++i) reactor->Post([&seen, i] { seen.push_back(i); });
  reactor->Post([&] {
    EXPECT_TRUE(reactor->InOwnThread());
    reactor->Stop();
  });
  thread.join();
  ASSERT_EQ(seen.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)], i);
  reactor->Stop();
}

TEST_F(ReactorTest, StopBeforeRunReturnsAtOnce) {
  auto reactor = MakeReactor();
  reactor->Stop();
  reactor->Run();
}

TEST_F(ReactorTest, PostedWorkIsDroppedByTheDestructor) {
  auto reactor = MakeReactor();
  auto held = std::make_shared<int>(1);
  reactor->Post([held] { FAIL(); });
  reactor.reset();
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(ReactorTest, WorkFromManyThreadsArrivesOnce) {
  auto reactor = MakeReactor();
  std::thread runner([&] { reactor->Run(); });
  constexpr int kThreads = 4;
  constexpr int kEach = 2000;
  int count = 0;  // on the runner only
  std::atomic<int> done{0};
  std::vector<std::thread> posters;
  for (int t = 0; t < kThreads; ++t) {
    posters.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        reactor->Post([&] {
          ++count;
          done.store(count);
        });
        if (i % 100 == 0) std::this_thread::yield();
      }
    });
  }
  for (std::thread& poster : posters) poster.join();
  while (done.load() < kThreads * kEach) std::this_thread::yield();
  reactor->Stop();
  runner.join();
  EXPECT_EQ(count, kThreads * kEach);
}

TEST_F(ReactorTest, TimersFireInOrderAndNotBeforeTheirTime) {
  auto reactor = MakeReactor();
  const MonotonicTime start = MonotonicNow();
  std::vector<int> fired;
  reactor->AddTimer(start + Milliseconds(20), [&] { fired.push_back(2); });
  reactor->AddTimer(start + Milliseconds(5), [&] {
    EXPECT_GE(MonotonicNow(), start + Milliseconds(5));
    fired.push_back(1);
  });
  const uint64_t cancelled = reactor->AddTimer(start + Milliseconds(1), [&] { FAIL(); });
  reactor->CancelTimer(cancelled);
  reactor->CancelTimer(cancelled);
  while (fired.size() < 2) reactor->RunOnce(kNanosecondsPerSecond);
  EXPECT_THAT(fired, ElementsAre(1, 2));
  EXPECT_LT(MonotonicNow() - start, 5 * kNanosecondsPerSecond);
}

TEST_F(ReactorTest, TimerMayCancelAnotherThatIsDueAndAddItself) {
  auto reactor = MakeReactor();
  uint64_t second = 0;
  int fired = 0;
  std::function<void()> again = [&] {
    if (++fired < 3) reactor->AddTimer(reactor->now(), again);
  };
  reactor->AddTimer(1, [&] { reactor->CancelTimer(second); });
  second = reactor->AddTimer(2, [&] { FAIL() << "was cancelled"; });
  reactor->AddTimer(3, again);
  reactor->RunOnce(0);
  EXPECT_EQ(fired, 1) << "a timer set in a turn fires in the next";
  reactor->RunOnce(0);
  reactor->RunOnce(0);
  EXPECT_EQ(fired, 3);
}

TEST_F(ReactorTest, PollsWhatIsAddedThenLetsItSleep) {
  auto reactor = MakeReactor();
  FakeConnection::State& state = NewState();
  AddFake(*reactor, &state);
  for (int i = 0; i < 5; ++i) reactor->RunOnce(0);
  EXPECT_EQ(state.polls, 1);
  EXPECT_EQ(state.sleeps, 1);
  EXPECT_EQ(reactor->num_connections(), 1u);
}

TEST_F(ReactorTest, ProgressIsPolledAgainWithoutSleeping) {
  auto reactor = MakeReactor();
  FakeConnection::State& state = NewState();
  state.result = PollResult::kProgress;
  AddFake(*reactor, &state);
  for (int i = 0; i < 5; ++i) reactor->RunOnce(kInfiniteFuture);
  EXPECT_EQ(state.polls, 5);
  EXPECT_EQ(state.sleeps, 0);
}

TEST_F(ReactorTest, ConnectionThatCannotSleepYetIsPolledAgain) {
  auto reactor = MakeReactor();
  FakeConnection::State& refuses = NewState();
  refuses.may_sleep = false;
  FakeConnection::State& pending = NewState();
  pending.wait.poll_again = true;
  AddFake(*reactor, &refuses);
  AddFake(*reactor, &pending);
  // On a machine that gives this thread a turn now and then, they count as quiet before long: they
  // are polled in some turns then, but no turn sleeps.
  for (int i = 0; i < 64; ++i) reactor->RunOnce(kInfiniteFuture);
  EXPECT_GE(refuses.polls, 4);
  EXPECT_GE(pending.polls, 4);
}

TEST_F(ReactorTest, SpinsForAWhileAfterSomethingMoved) {
  auto reactor = MakeReactor({.spin = Milliseconds(2)});
  FakeConnection::State& state = NewState();
  state.result = PollResult::kDrained;
  AddFake(*reactor, &state);
  const MonotonicTime start = MonotonicNow();
  reactor->RunOnce(0);
  state.result = PollResult::kIdle;
  while (state.sleeps == 0) reactor->RunOnce(0);
  EXPECT_GE(MonotonicNow() - start, Milliseconds(2));
}

TEST_F(ReactorTest, WakePollsInTheSameTurnEvenWhenAsleep) {
  auto reactor = MakeReactor();
  FakeConnection::State& sleeper = NewState();
  FakeConnection::State& waker = NewState();
  Connection* asleep = AddFake(*reactor, &sleeper);
  reactor->RunOnce(0);
  ASSERT_EQ(sleeper.polls, 1);
  waker.on_poll = [&] { reactor->Wake(asleep); };
  AddFake(*reactor, &waker);
  reactor->RunOnce(0);
  EXPECT_EQ(sleeper.polls, 2);
  waker.on_poll = nullptr;
  sleeper.wake();
  reactor->RunOnce(0);
  EXPECT_EQ(sleeper.polls, 3);
}

TEST_F(ReactorTest, MutualWakingTakesTurns) {
  auto reactor = MakeReactor();
  FakeConnection::State& a = NewState();
  FakeConnection::State& b = NewState();
  a.on_poll = [&] { b.wake(); };
  b.on_poll = [&] { a.wake(); };
  AddFake(*reactor, &a);
  AddFake(*reactor, &b);
  for (int i = 1; i <= 10; ++i) {
    reactor->RunOnce(0);
    EXPECT_EQ(a.polls, i);
    EXPECT_EQ(b.polls, i);
  }
  a.on_poll = b.on_poll = nullptr;
}

TEST_F(ReactorTest, DeadlineThatMovesAwayIsNotFiredEarly) {
  auto reactor = MakeReactor();
  FakeConnection::State& state = NewState();
  const MonotonicTime start = MonotonicNow();
  state.deadline = start + Milliseconds(100);
  AddFake(*reactor, &state);
  reactor->RunOnce(0);
  state.deadline = start + Milliseconds(150);
  while (state.timers == 0) reactor->RunOnce(kNanosecondsPerSecond);
  EXPECT_GE(MonotonicNow(), start + Milliseconds(150));
  EXPECT_EQ(state.timers, 1);
}

TEST_F(ReactorTest, DeadlineThatComesCloserIsSeenAfterAPoll) {
  auto reactor = MakeReactor();
  FakeConnection::State& state = NewState();
  const MonotonicTime start = MonotonicNow();
  state.deadline = start + 3600 * kNanosecondsPerSecond;
  AddFake(*reactor, &state);
  reactor->RunOnce(0);
  state.deadline = start + Milliseconds(5);
  state.wake();
  while (state.timers == 0) reactor->RunOnce(10 * kNanosecondsPerSecond);
  EXPECT_LT(MonotonicNow() - start, 5 * kNanosecondsPerSecond);
}

TEST_F(ReactorTest, FinishedConnectionIsReportedAndDestroyed) {
  auto reactor = MakeReactor();
  FakeConnection::State& first = NewState();
  FakeConnection::State& second = NewState();
  int reports = 0;
  reactor->Add(std::make_unique<FakeConnection>(&first), [&](Connection* connection) {
    EXPECT_EQ(connection->Describe(), "fake");
    EXPECT_FALSE(first.destroyed);
    ++reports;
    AddFake(*reactor, &second);  // allowed from here
  });
  reactor->RunOnce(0);
  reactor->ForEachConnection([](Connection* c) { c->Close(CloseReason::kLocal, 0); });
  first.wake();
  reactor->RunOnce(0);
  EXPECT_TRUE(first.destroyed);
  EXPECT_EQ(reports, 1);
  EXPECT_EQ(second.polls, 1);
  EXPECT_EQ(reactor->num_connections(), 1u);
}

TEST_F(ReactorTest, DestructorClosesConnections) {
  auto reactor = MakeReactor();
  for (int i = 0; i < 10; ++i) NewState();
  for (FakeConnection::State& state : states_) AddFake(*reactor, &state);
  reactor->RunOnce(0);
  reactor.reset();
  for (const FakeConnection::State& state : states_) {
    EXPECT_TRUE(state.closed);
    EXPECT_TRUE(state.destroyed);
  }
}

// An embedder's process does not end because a device is slow: the reactor lives on until it is
// done.
TEST_F(ReactorTest, AConnectionThatADeviceHoldsOutlivesTheReactor) {
  FakeConnection::State& state = NewState();
  state.held = true;
  state.wait.poll_again = true;
  std::vector<std::string> held;
  ReactorOptions options;
  options.device_timeout = 20 * kNanosecondsPerMillisecond;
  options.on_held = [&](std::string_view connection) { held.emplace_back(connection); };
  auto reactor = MakeReactor(options);
  bool told = false;
  reactor->Add(std::make_unique<FakeConnection>(&state), [&told](Connection*) { told = true; });
  reactor.reset();
  EXPECT_TRUE(state.closed);
  EXPECT_FALSE(state.destroyed);
  EXPECT_THAT(held, ElementsAre("fake"));
  state.held = false;
  for (int i = 0; i < 1000 && !state.destroyed; ++i) usleep(10'000);
  EXPECT_TRUE(state.destroyed);
  EXPECT_FALSE(told) << "whoever asked may be gone";
}

}  // namespace
}  // namespace vof
