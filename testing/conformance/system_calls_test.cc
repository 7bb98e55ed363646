// SPDX-License-Identifier: Apache-2.0
//
// What a request costs: calls to the stream, each of which is a system call over TCP.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/time.h"
#include "core/runtime/reactor.h"
#include "core/runtime/stream_connection.h"
#include "testing/conformance/counting_stream.h"
#include "testing/conformance/echo_engine.h"
#include "testing/conformance/stream_pairs.h"
#include "testing/conformance/talk_engine.h"

namespace vof {
namespace {

using Counting = CountingStream<TcpStream>;
using CountingConnection = StreamConnection<Counting>;

struct Ends {
  CallCounts client_calls;
  CallCounts server_calls;
  EchoLog echo_log;
  TalkLog talk_log;
};

class SystemCallsTest : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<Reactor>> reactor = Reactor::Create({});
    ASSERT_TRUE(reactor.ok()) << reactor.status();
    reactor_ = *std::move(reactor);
  }
  EchoEngine* Connect(Ends* ends, const TalkOptions& talk, const EchoOptions& echo = {}) {
    auto pair = Tcp4PairMaker::Make();
    EXPECT_TRUE(pair.ok()) << pair.status();
    auto engine = std::make_unique<EchoEngine>(echo, &ends->echo_log);
    EchoEngine* raw = engine.get();
    reactor_->Add(std::make_unique<CountingConnection>(
        Counting(std::move(pair->b), &ends->server_calls), std::move(engine)));
    // The server finds nothing to read yet; after that it sleeps.
    reactor_->RunOnce(0);
    reactor_->RunOnce(0);
    reactor_->Add(
        std::make_unique<CountingConnection>(Counting(std::move(pair->a), &ends->client_calls),
                                             std::make_unique<TalkEngine>(talk, &ends->talk_log)));
    return raw;
  }
  bool RunUntilEchoed(const Ends& ends, uint64_t bytes) {
    const MonotonicTime give_up = DeadlineAfter(MonotonicNow(), 20 * kNanosecondsPerSecond);
    while (ends.talk_log.echoed_bytes < bytes && MonotonicNow() < give_up) {
      reactor_->RunOnce(Milliseconds(1));
    }
    return ends.talk_log.echoed_bytes >= bytes;
  }

  std::unique_ptr<Reactor> reactor_;
};

TEST_F(SystemCallsTest, RequestAtDepthOneCostsOneReceiveAndOneSendPerSide) {
  constexpr int kRequests = 500;
  Ends ends;
  Connect(&ends, {.total_bytes = kRequests + 1, .window_bytes = 1, .close_when_done = false});
  ASSERT_TRUE(RunUntilEchoed(ends, 1));
  const CallCounts client = ends.client_calls;
  const CallCounts server = ends.server_calls;
  ASSERT_TRUE(RunUntilEchoed(ends, kRequests + 1));
  EXPECT_EQ(ends.server_calls.reads - server.reads, kRequests);
  EXPECT_EQ(ends.server_calls.writes - server.writes, kRequests);
  EXPECT_EQ(ends.client_calls.reads - client.reads, kRequests);
  // The first of the requests went out before the counting began, none after the last.
  EXPECT_LE(ends.client_calls.writes - client.writes, kRequests);
  reactor_.reset();
}

TEST_F(SystemCallsTest, ManyPiecesLeaveInOneSend) {
  Ends ends;
  Connect(&ends, {.total_bytes = 1000, .close_when_done = false}, {.piece_bytes = 1});
  ASSERT_TRUE(RunUntilEchoed(ends, 1000));
  EXPECT_EQ(ends.server_calls.writes, 1);
  reactor_.reset();
}

TEST_F(SystemCallsTest, IdleConnectionsCostNothing) {
  constexpr int kIdle = 200;
  std::vector<std::unique_ptr<Ends>> idle;
  for (int i = 0; i < kIdle; ++i) {
    idle.push_back(std::make_unique<Ends>());
    Connect(idle.back().get(), {}, {.capacity_bytes = 4096});
  }
  Ends busy;
  Connect(&busy, {.total_bytes = 200, .window_bytes = 1, .close_when_done = false});
  for (int i = 0; i < 5; ++i) reactor_->RunOnce(0);
  int before = 0;
  for (const auto& ends : idle) before += ends->server_calls.reads + ends->client_calls.reads;
  ASSERT_TRUE(RunUntilEchoed(busy, 200));
  int after = 0;
  for (const auto& ends : idle) after += ends->server_calls.reads + ends->client_calls.reads;
  EXPECT_EQ(after, before);
  reactor_.reset();
}

TEST_F(SystemCallsTest, BlockedWriterDoesNotTryInVain) {
  Ends ends;
  EchoEngine* echo = Connect(&ends, {.total_bytes = 64u << 20, .close_when_done = false},
                             {.capacity_bytes = 1000});
  echo->Hold(true);  // takes 1000 bytes, then no more: the client's writes block
  for (int i = 0; i < 200; ++i) reactor_->RunOnce(0);
  const CallCounts client = ends.client_calls;
  const CallCounts server = ends.server_calls;
  for (int i = 0; i < 100; ++i) reactor_->RunOnce(0);
  EXPECT_EQ(ends.client_calls.writes, client.writes);
  EXPECT_EQ(ends.client_calls.reads, client.reads);
  EXPECT_EQ(ends.server_calls.reads, server.reads);
  echo->Hold(false);
  reactor_.reset();
}

}  // namespace
}  // namespace vof
