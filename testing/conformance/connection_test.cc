// SPDX-License-Identifier: Apache-2.0
//
// What StreamConnection and Reactor promise over every byte stream: an echo on one side, and either
// an engine or the bare stream on the other.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/limits.h"
#include "core/base/time.h"
#include "core/runtime/reactor.h"
#include "core/runtime/stream_connection.h"
#include "testing/conformance/echo_engine.h"
#include "testing/conformance/stream_pairs.h"
#include "testing/conformance/talk_engine.h"

namespace vof {
namespace {

using Bytes = std::vector<std::byte>;
constexpr Nanoseconds kPatience = 20 * kNanosecondsPerSecond;

std::unique_ptr<Reactor> MakeReactor(const ReactorOptions& options = {}) {
  absl::StatusOr<std::unique_ptr<Reactor>> reactor = Reactor::Create(options);
  EXPECT_TRUE(reactor.ok()) << reactor.status();
  return *std::move(reactor);
}

template <typename Maker>
class ConnectionTest : public testing::Test {
 protected:
  using Stream = typename Maker::Stream;

  void SetUp() override {
    auto pair = Maker::Make();
    ASSERT_TRUE(pair.ok()) << pair.status();
    pair_.emplace(*std::move(pair));
    reactor_ = MakeReactor();
  }

  EchoEngine* AddEcho(const EchoOptions& options = {}, Reactor* reactor = nullptr) {
    auto engine = std::make_unique<EchoEngine>(options, &echo_log_);
    EchoEngine* raw = engine.get();
    auto connection =
        std::make_unique<StreamConnection<Stream>>(std::move(pair_->b), std::move(engine));
    echo_ = connection.get();
    (reactor != nullptr ? reactor : reactor_.get())->Add(std::move(connection));
    return raw;
  }
  void AddTalk(const TalkOptions& options, Reactor* reactor = nullptr) {
    (reactor != nullptr ? reactor : reactor_.get())
        ->Add(std::make_unique<StreamConnection<Stream>>(
            std::move(pair_->a), std::make_unique<TalkEngine>(options, &talk_log_)));
  }
  Stream& bare() { return pair_->a; }

  template <typename Condition>
  bool RunUntil(Condition condition) {
    const MonotonicTime give_up = DeadlineAfter(MonotonicNow(), kPatience);
    while (!condition()) {
      if (MonotonicNow() > give_up) return false;
      reactor_->RunOnce(Milliseconds(1));
    }
    return true;
  }
  // Writes and reads on the bare side while the reactor runs.
  void WriteBare(const Bytes& bytes) {
    size_t at = 0;
    ASSERT_TRUE(RunUntil([&] {
      const ConstBuffer buffer(bytes.data() + at, bytes.size() - at);
      at += bare().WriteSome(std::span<const ConstBuffer>(&buffer, 1)).bytes;
      return at == bytes.size();
    }));
  }
  // Until the end; returns how it came.
  IoStatus ReadBareToTheEnd(Bytes* got) {
    Bytes chunk(10'000);
    IoResult result;
    EXPECT_TRUE(RunUntil([&] {
      const MutableBuffer buffer(chunk.data(), chunk.size());
      result = bare().ReadSome(std::span<const MutableBuffer>(&buffer, 1));
      if (result.status == IoStatus::kOk) {
        got->insert(got->end(), chunk.begin(),
                    chunk.begin() + static_cast<ptrdiff_t>(result.bytes));
        return false;
      }
      return result.status != IoStatus::kAgain;
    }));
    return result.status;
  }
  static Bytes Pattern(size_t size_bytes) {
    Bytes bytes(size_bytes);
    for (size_t i = 0; i < size_bytes; ++i) bytes[i] = static_cast<std::byte>(i * 7 + (i >> 8));
    return bytes;
  }

  EchoLog echo_log_;
  TalkLog talk_log_;
  std::optional<Pair<Stream>> pair_;
  Connection* echo_ = nullptr;
  std::unique_ptr<Reactor> reactor_;  // ends first
};

using Makers = testing::Types<Tcp4PairMaker, Tcp6PairMaker, SmallTcpPairMaker, LoopbackPairMaker,
                              OddLoopbackPairMaker, FaultyPairMaker<LoopbackPairMaker>,
                              FaultyPairMaker<Tcp4PairMaker>>;
TYPED_TEST_SUITE(ConnectionTest, Makers);

TYPED_TEST(ConnectionTest, EchoesWhatIsSaid) {
  this->AddEcho();
  this->AddTalk({.total_bytes = 300'000});
  ASSERT_TRUE(this->RunUntil([&] { return this->talk_log_.destroyed.load(); }));
  EXPECT_EQ(this->talk_log_.echoed_bytes, 300'000u);
  EXPECT_FALSE(this->talk_log_.mismatch);
  EXPECT_EQ(this->talk_log_.reason, CloseReason::kLocal);
  ASSERT_TRUE(this->RunUntil([&] { return this->echo_log_.destroyed; }));
  EXPECT_EQ(this->echo_log_.reason, CloseReason::kPeerClosed);
  EXPECT_EQ(this->reactor_->num_connections(), 0u);
}

TYPED_TEST(ConnectionTest, PingPongsOneByteAtATime) {
  this->AddEcho();
  this->AddTalk({.total_bytes = 300, .window_bytes = 1});
  ASSERT_TRUE(this->RunUntil([&] { return this->talk_log_.destroyed.load(); }));
  EXPECT_EQ(this->talk_log_.echoed_bytes, 300u);
  EXPECT_FALSE(this->talk_log_.mismatch);
}

TYPED_TEST(ConnectionTest, WorksAcrossThreadsInEveryMode) {
  for (const ReactorOptions& options : {ReactorOptions{}, ReactorOptions{.spin = Milliseconds(1)},
                                        ReactorOptions{.busy_poll = true}}) {
    this->SetUp();
    this->echo_log_ = EchoLog();
    this->talk_log_.destroyed = false;
    auto server = MakeReactor(options);
    auto client = MakeReactor(options);
    this->AddEcho({.capacity_bytes = 10'000}, server.get());
    this->AddTalk({.total_bytes = 60'000, .window_bytes = 20'000}, client.get());
    this->talk_log_.on_done = [&] { client->Stop(); };
    std::thread server_thread([&] { server->Run(); });
    std::thread client_thread([&] { client->Run(); });
    client_thread.join();
    server->Stop();
    server_thread.join();
    EXPECT_EQ(this->talk_log_.echoed_bytes, 60'000u);
    EXPECT_FALSE(this->talk_log_.mismatch);
    this->talk_log_.on_done = nullptr;
    client.reset();
    server.reset();
    EXPECT_TRUE(this->talk_log_.destroyed);
    EXPECT_TRUE(this->echo_log_.destroyed);
  }
}

TYPED_TEST(ConnectionTest, SendsManyPiecesAtOnce) {
  this->AddEcho({.piece_bytes = 3});
  this->AddTalk({.total_bytes = 20'000});
  ASSERT_TRUE(this->RunUntil([&] { return this->talk_log_.destroyed.load(); }));
  EXPECT_EQ(this->talk_log_.echoed_bytes, 20'000u);
  EXPECT_FALSE(this->talk_log_.mismatch);
}

// Whoever has much to say lets others have their turn.
TYPED_TEST(ConnectionTest, OneTurnSendsALimitedNumberOfBytes) {
  constexpr uint64_t kShare = TurnShareBytes(/*num_active=*/1);
  constexpr uint64_t kTotal = 4 * kShare;
  this->AddTalk({.total_bytes = kTotal, .window_bytes = kTotal});
  Bytes chunk(64u << 10);
  uint64_t received = 0;
  const auto receive = [&] {
    const MutableBuffer buffer(chunk.data(), chunk.size());
    uint64_t got = 0;
    for (;;) {
      const IoResult result = this->pair_->b.ReadSome(std::span<const MutableBuffer>(&buffer, 1));
      if (result.status != IoStatus::kOk) return got;
      got += result.bytes;
    }
  };
  const MonotonicTime give_up = DeadlineAfter(MonotonicNow(), kPatience);
  while (received < kTotal && MonotonicNow() < give_up) {
    this->reactor_->RunOnce(0);
    const uint64_t got = receive();
    EXPECT_LE(got, kShare);
    received += got;
  }
  EXPECT_EQ(received, kTotal);
}

TYPED_TEST(ConnectionTest, EngineThatDoesNotReadHoldsThePeerBack) {
  EchoEngine* echo = this->AddEcho({.capacity_bytes = 1000});
  echo->Hold(true);
  size_t written = 0;
  const Bytes bytes = this->Pattern(10'000);
  for (int quiet = 0; quiet < 100; ++quiet) {
    const ConstBuffer buffer(bytes.data(), bytes.size());
    const IoResult result = this->bare().WriteSome(std::span<const ConstBuffer>(&buffer, 1));
    if (result.status == IoStatus::kOk) quiet = 0;
    written += result.bytes;
    this->reactor_->RunOnce(0);
    ASSERT_LT(written, 64u << 20);
  }
  EXPECT_EQ(this->echo_log_.read_bytes, 1000u) << "read more than it asked for";
  EXPECT_EQ(this->echo_log_.written_bytes, 0u);
  // What the stream held meanwhile comes through when it reads again.
  echo->Hold(false);
  Bytes chunk(10'000);
  size_t read = 0;
  ASSERT_TRUE(this->RunUntil([&] {
    const MutableBuffer buffer(chunk.data(), chunk.size());
    read += this->bare().ReadSome(std::span<const MutableBuffer>(&buffer, 1)).bytes;
    return read == written;
  }));
}

TYPED_TEST(ConnectionTest, HalfClosedPeerStillGetsItsAnswers) {
  if constexpr (HalfCloseable<typename TypeParam::Stream>) {
    EchoEngine* echo = this->AddEcho();
    echo->Hold(true);
    const Bytes bytes = this->Pattern(900);
    this->WriteBare(bytes);
    this->bare().ShutdownWrite();
    ASSERT_TRUE(this->RunUntil([&] { return this->echo_log_.read_bytes == bytes.size(); }));
    for (int i = 0; i < 20; ++i) this->reactor_->RunOnce(0);
    EXPECT_FALSE(this->echo_log_.closed) << "work was outstanding";
    echo->Hold(false);
    Bytes got;
    EXPECT_EQ(this->ReadBareToTheEnd(&got), IoStatus::kClosed);
    EXPECT_TRUE(got == bytes);
    ASSERT_TRUE(this->RunUntil([&] { return this->echo_log_.destroyed; }));
    EXPECT_EQ(this->echo_log_.reason, CloseReason::kPeerClosed);
  }
}

TYPED_TEST(ConnectionTest, LastAnswerArrivesAlthoughThePeerKeepsSending) {
  this->AddEcho({.close_after_bytes = 500});
  const Bytes bytes = this->Pattern(900);
  this->WriteBare(bytes);
  ASSERT_TRUE(this->RunUntil([&] { return this->echo_log_.closed; }));
  EXPECT_EQ(this->echo_log_.reason, CloseReason::kLocal);
  const ConstBuffer more(bytes.data(), bytes.size());
  for (int i = 0; i < 10; ++i) {
    this->bare().WriteSome(std::span<const ConstBuffer>(&more, 1));
    this->reactor_->RunOnce(0);
  }
  const size_t answered = this->echo_log_.written_bytes;
  EXPECT_GE(answered, 500u);
  Bytes got;
  EXPECT_EQ(this->ReadBareToTheEnd(&got), IoStatus::kClosed);
  EXPECT_EQ(got.size(), answered);
  EXPECT_TRUE(std::equal(got.begin(), got.end(), bytes.begin()));
  ASSERT_TRUE(this->RunUntil([&] { return this->echo_log_.destroyed; })) << "lingers for ever";
}

TYPED_TEST(ConnectionTest, CloseWithWorkOutstandingWaitsForIt) {
  EchoEngine* echo = this->AddEcho();
  echo->Hold(true);
  this->WriteBare(this->Pattern(900));
  ASSERT_TRUE(this->RunUntil([&] { return this->echo_log_.read_bytes == 900u; }));
  this->echo_->Close(CloseReason::kLocal, MonotonicNow());
  EXPECT_TRUE(this->echo_log_.closed);
  for (int i = 0; i < 10; ++i) this->reactor_->RunOnce(0);
  EXPECT_FALSE(this->echo_log_.destroyed);
  EXPECT_GT(this->echo_log_.advances_after_close, 5);
  echo->Hold(false);
  for (int i = 0; i < 3; ++i) this->reactor_->RunOnce(0);
  EXPECT_TRUE(this->echo_log_.destroyed);
  Bytes got;
  this->ReadBareToTheEnd(&got);
  EXPECT_TRUE(got.empty());
}

TYPED_TEST(ConnectionTest, DeadlineReachesTheEngine) {
  EchoEngine* echo = this->AddEcho();
  echo->set_deadline(MonotonicNow() + Milliseconds(5));
  ASSERT_TRUE(this->RunUntil([&] { return this->echo_log_.closed; }));
  EXPECT_EQ(this->echo_log_.reason, CloseReason::kLocal);
}

TYPED_TEST(ConnectionTest, EngineWithNewsFromElsewhereIsDriven) {
  EchoEngine* echo = this->AddEcho();
  for (int i = 0; i < 5; ++i) this->reactor_->RunOnce(0);
  const Bytes news = this->Pattern(500);
  echo->Say(news);
  Bytes got;
  Bytes chunk(1000);
  ASSERT_TRUE(this->RunUntil([&] {
    const MutableBuffer buffer(chunk.data(), chunk.size());
    const IoResult result = this->bare().ReadSome(std::span<const MutableBuffer>(&buffer, 1));
    got.insert(got.end(), chunk.begin(), chunk.begin() + static_cast<ptrdiff_t>(result.bytes));
    return got.size() == news.size();
  }));
  EXPECT_TRUE(got == news);
}

TYPED_TEST(ConnectionTest, PeerThatVanishesWithAnswersUnsentEndsIt) {
  this->AddEcho();
  this->WriteBare(this->Pattern(900));
  { auto gone = std::move(this->bare()); }
  ASSERT_TRUE(this->RunUntil([&] { return this->echo_log_.destroyed; }));
  EXPECT_NE(this->echo_log_.reason, CloseReason::kLocal);
}

TYPED_TEST(ConnectionTest, DescribesItselfWithItsPeer) {
  this->AddEcho();
  EXPECT_EQ(this->echo_->Describe().substr(0, 8), "echo at ");
}

}  // namespace
}  // namespace vof
