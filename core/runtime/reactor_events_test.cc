// SPDX-License-Identifier: Apache-2.0
//
// Descriptors that a reactor sleeps on: watches, transports, work descriptors, fairness among them.
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/runtime/connection.h"
#include "core/runtime/epoll_set.h"
#include "core/runtime/reactor.h"

namespace vof {
namespace {

class Event {
 public:
  Event() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  ~Event() { close(fd_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  int fd() const { return fd_; }
  void Signal() { Check(eventfd_write(fd_, 1)); }
  void Clear() {
    eventfd_t value;
    eventfd_read(fd_, &value);
  }

 private:
  static void Check(int result) { EXPECT_EQ(result, 0); }
  int fd_;
};

// Waits on two events and clears what it sees.
class EventConnection final : public Connection {
 public:
  struct State {
    Event transport;
    Event work;
    int polls = 0;
    size_t share_bytes = 0;  // of the last poll
    bool want_read = true;
    bool wants_work = false;
    PollResult result = PollResult::kIdle;
  };

  explicit EventConnection(State* state) : state_(state) {}

  PollResult Poll(MonotonicTime, MutableBuffer) override {
    ++state_->polls;
    state_->share_bytes = turn_share_bytes();
    if (state_->want_read) state_->transport.Clear();
    if (state_->wants_work) state_->work.Clear();
    return state_->result;
  }
  bool PrepareToSleep(WaitSet* wait) override {
    *wait = WaitSet{};
    if (state_->want_read) {
      wait->transport_fd = state_->transport.fd();
      wait->want_read = true;
    }
    if (state_->wants_work) wait->work_fd = state_->work.fd();
    return true;
  }
  MonotonicTime NextDeadline() const override { return kInfiniteFuture; }
  void OnTimer(MonotonicTime) override {}
  void Close(CloseReason, MonotonicTime) override { finished_ = true; }
  bool finished() const override { return finished_; }
  std::string Describe() const override { return "event"; }
  void SetWake(std::function<void()> wake) override { wake_ = std::move(wake); }

 private:
  State* const state_;
  bool finished_ = false;
  std::function<void()> wake_;
};

std::unique_ptr<Reactor> MakeReactor(const ReactorOptions& options = {}) {
  absl::StatusOr<std::unique_ptr<Reactor>> reactor = Reactor::Create(options);
  EXPECT_TRUE(reactor.ok()) << reactor.status();
  return *std::move(reactor);
}

void Turns(Reactor& reactor, int count) {
  for (int i = 0; i < count; ++i) reactor.RunOnce(0);
}

class ReactorEventsTest : public testing::Test {
 protected:
  // Outlives the reactor of the test body.
  EventConnection::State& NewState() { return states_.emplace_back(); }

  std::deque<EventConnection::State> states_;
};

TEST_F(ReactorEventsTest, WatchIsLevelTriggeredUntilUnwatch) {
  auto reactor = MakeReactor();
  Event event;
  int calls = 0;
  ASSERT_TRUE(reactor->Watch(event.fd(), [&] { ++calls; }).ok());
  Turns(*reactor, 2);
  EXPECT_EQ(calls, 0);
  event.Signal();
  Turns(*reactor, 3);
  EXPECT_EQ(calls, 3);
  reactor->Unwatch(event.fd());
  Turns(*reactor, 3);
  EXPECT_EQ(calls, 3);
  reactor->Unwatch(event.fd());
}

TEST_F(ReactorEventsTest, ManyThatAreActiveMoveLessEach) {
  auto reactor = MakeReactor();
  for (int active : {64, 128}) {
    while (states_.size() < static_cast<size_t>(active)) {
      EventConnection::State& state = NewState();
      state.result = PollResult::kProgress;  // stays active
      reactor->Add(std::make_unique<EventConnection>(&state));
    }
    Turns(*reactor, 2);
    for (const EventConnection::State& state : states_) {
      EXPECT_EQ(state.share_bytes, kTurnBytes / static_cast<size_t>(active));
    }
  }
}

// Nobody waits for a second turn because more are ready than the kernel tells of at once.
TEST_F(ReactorEventsTest, AllThatAreReadyHaveOneTurn) {
  auto reactor = MakeReactor();
  for (int i = 0; i < EpollSet::kMaxEvents + 40; ++i) {
    reactor->Add(std::make_unique<EventConnection>(&NewState()));
  }
  Turns(*reactor, 2);  // they sleep
  for (EventConnection::State& state : states_) {
    state.polls = 0;
    state.transport.Signal();
  }
  Turns(*reactor, 1);
  for (const EventConnection::State& state : states_) EXPECT_EQ(state.polls, 1);
}

TEST_F(ReactorEventsTest, WatchersMayUnwatchEachOtherAndThemselves) {
  auto reactor = MakeReactor();
  Event a;
  Event b;
  int calls = 0;
  const auto both_off = [&] {
    ++calls;
    reactor->Unwatch(a.fd());
    reactor->Unwatch(b.fd());
  };
  ASSERT_TRUE(reactor->Watch(a.fd(), both_off).ok());
  ASSERT_TRUE(reactor->Watch(b.fd(), both_off).ok());
  a.Signal();
  b.Signal();
  Turns(*reactor, 3);
  EXPECT_EQ(calls, 1) << "the second event of the same batch named a watch that was gone";
}

TEST_F(ReactorEventsTest, WatchOfABadDescriptorIsAnError) {
  auto reactor = MakeReactor();
  EXPECT_FALSE(reactor->Watch(1'000'000, [] {}).ok());
  EXPECT_FALSE(reactor->Watch(2'000'000'000, [] {}).ok());
  EXPECT_FALSE(reactor->Watch(-1, [] {}).ok());
}

TEST_F(ReactorEventsTest, OnlyReadyConnectionsArePolled) {
  auto reactor = MakeReactor();
  for (int i = 0; i < 200; ++i) NewState();
  for (EventConnection::State& state : states_) {
    reactor->Add(std::make_unique<EventConnection>(&state));
  }
  Turns(*reactor, 3);
  states_[7].transport.Signal();
  states_[190].transport.Signal();
  Turns(*reactor, 5);
  for (size_t i = 0; i < states_.size(); ++i) {
    EXPECT_EQ(states_[i].polls, i == 7 || i == 190 ? 2 : 1) << i;
  }
}

TEST_F(ReactorEventsTest, WorkDescriptorWakes) {
  auto reactor = MakeReactor();
  EventConnection::State& state = NewState();
  state.wants_work = true;
  reactor->Add(std::make_unique<EventConnection>(&state));
  Turns(*reactor, 3);
  EXPECT_EQ(state.polls, 1);
  state.work.Signal();
  Turns(*reactor, 3);
  EXPECT_EQ(state.polls, 2);
}

TEST_F(ReactorEventsTest, SignalledWorkNobodyWaitsForDoesNotSpin) {
  auto reactor = MakeReactor();
  EventConnection::State& state = NewState();
  state.wants_work = true;
  reactor->Add(std::make_unique<EventConnection>(&state));
  Turns(*reactor, 2);
  state.wants_work = false;
  state.transport.Signal();
  Turns(*reactor, 2);
  ASSERT_EQ(state.polls, 2);
  state.work.Signal();  // stays readable: nobody clears it
  Turns(*reactor, 10);
  EXPECT_LE(state.polls, 3);
  // And it works again when it is waited for.
  state.wants_work = true;
  state.transport.Signal();
  Turns(*reactor, 5);
  const int polls = state.polls;
  state.work.Signal();
  Turns(*reactor, 5);
  EXPECT_GT(state.polls, polls);
}

TEST_F(ReactorEventsTest, PausedConnectionIsNotPolledForBytes) {
  auto reactor = MakeReactor();
  EventConnection::State& state = NewState();
  state.want_read = false;
  reactor->Add(std::make_unique<EventConnection>(&state));
  state.transport.Signal();
  Turns(*reactor, 10);
  EXPECT_EQ(state.polls, 1);
}

TEST_F(ReactorEventsTest, BusyConnectionsStarveNobody) {
  for (const bool busy_poll : {false, true}) {
    auto reactor = MakeReactor({.busy_poll = busy_poll});
    EventConnection::State& busy = NewState();
    busy.result = PollResult::kProgress;
    EventConnection::State& other = NewState();
    reactor->Add(std::make_unique<EventConnection>(&busy));
    reactor->Add(std::make_unique<EventConnection>(&other));
    Event listener;
    bool accepted = false;
    bool posted = false;
    bool fired = false;
    ASSERT_TRUE(reactor->Watch(listener.fd(), [&] { accepted = true; }).ok());
    Turns(*reactor, 5);
    // Quiet for so long that it is left to epoll even by a busy poller.
    const MonotonicTime start = MonotonicNow();
    while (MonotonicNow() < start + Milliseconds(30)) Turns(*reactor, 1);
    const int polls = other.polls;
    listener.Signal();
    other.transport.Signal();
    reactor->Post([&] { posted = true; });
    reactor->AddTimer(reactor->now(), [&] { fired = true; });
    Turns(*reactor, 80);
    EXPECT_TRUE(accepted);
    EXPECT_TRUE(posted);
    EXPECT_TRUE(fired);
    EXPECT_GT(other.polls, polls);
  }
}

TEST_F(ReactorEventsTest, SleepEndsAtTheLimit) {
  auto reactor = MakeReactor();
  const MonotonicTime start = MonotonicNow();
  reactor->RunOnce(Milliseconds(20));
  EXPECT_GE(MonotonicNow() - start, Milliseconds(15));
  EXPECT_LT(MonotonicNow() - start, 10 * kNanosecondsPerSecond);
}

}  // namespace
}  // namespace vof
