// SPDX-License-Identifier: Apache-2.0
//
// What every byte stream promises, whatever carries it (core/transport/byte_stream.h).
#include "core/transport/byte_stream.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/limits.h"
#include "core/base/time.h"
#include "testing/conformance/stream_pairs.h"

namespace vof {
namespace {

using Bytes = std::vector<std::byte>;

Bytes Pattern(size_t size_bytes, uint32_t seed) {
  std::mt19937 random(seed);
  Bytes bytes(size_bytes);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

template <typename Maker>
class ByteStreamTest : public testing::Test {
 protected:
  using Stream = typename Maker::Stream;

  void SetUp() override {
    auto pair = Maker::Make();
    ASSERT_TRUE(pair.ok()) << pair.status();
    pair_.emplace(*std::move(pair));
  }
  Stream& a() { return pair_->a; }
  Stream& b() { return pair_->b; }

  // Waits as a reactor does: arms, then sleeps on the descriptor; polls again when there is nothing
  // to wait for.
  static void Wait(Stream& stream, bool reading) {
    if (!stream.Arm()) return;
    short events = stream.WantWrite() ? POLLOUT : 0;
    if (reading || stream.WantRead()) events |= POLLIN;
    pollfd fd{.fd = stream.wait_fd(), .events = events, .revents = 0};
    poll(&fd, 1, 1000);
  }

  static IoResult ReadOne(Stream& stream, Bytes* into) {
    const MutableBuffer buffer(into->data(), into->size());
    return stream.ReadSome(std::span<const MutableBuffer>(&buffer, 1));
  }
  // Reads until something other than kAgain comes, 10 s at most.
  static IoResult ReadPatiently(Stream& stream, Bytes* into) {
    const MonotonicTime give_up = DeadlineAfter(MonotonicNow(), 10 * kNanosecondsPerSecond);
    for (;;) {
      const IoResult result = ReadOne(stream, into);
      if (result.status != IoStatus::kAgain || MonotonicNow() > give_up) return result;
      Wait(stream, true);
    }
  }
  static void ExpectBytes(Stream& stream, const Bytes& expected) {
    Bytes got;
    Bytes chunk(64u << 10);
    while (got.size() < expected.size()) {
      const IoResult result = ReadPatiently(stream, &chunk);
      ASSERT_EQ(result.status, IoStatus::kOk) << "after " << got.size() << " bytes";
      got.insert(got.end(), chunk.begin(), chunk.begin() + static_cast<ptrdiff_t>(result.bytes));
    }
    ASSERT_TRUE(got == expected);
  }
  static void WriteAll(Stream& stream, const Bytes& bytes) {
    size_t at = 0;
    while (at < bytes.size()) {
      const ConstBuffer buffer(bytes.data() + at, bytes.size() - at);
      const IoResult result = stream.WriteSome(std::span<const ConstBuffer>(&buffer, 1));
      if (result.status == IoStatus::kAgain) {
        Wait(stream, false);
        continue;
      }
      ASSERT_EQ(result.status, IoStatus::kOk);
      at += result.bytes;
    }
  }

  std::optional<Pair<Stream>> pair_;
};

using Makers =
    testing::Types<Tcp4PairMaker, Tcp6PairMaker, SmallTcpPairMaker, LoopbackPairMaker,
                   OddLoopbackPairMaker, FaultyPairMaker<LoopbackPairMaker>,
                   FaultyPairMaker<OddLoopbackPairMaker>, FaultyPairMaker<Tcp4PairMaker>>;
TYPED_TEST_SUITE(ByteStreamTest, Makers);

TYPED_TEST(ByteStreamTest, NothingToReadIsAgain) {
  Bytes into(16);
  EXPECT_EQ(this->ReadOne(this->a(), &into).status, IoStatus::kAgain);
  EXPECT_EQ(this->ReadOne(this->b(), &into).status, IoStatus::kAgain);
}

TYPED_TEST(ByteStreamTest, NothingOfferedIsAgainNotTheEnd) {
  EXPECT_EQ(this->a().ReadSome({}).status, IoStatus::kAgain);
  EXPECT_EQ(this->a().WriteSome({}).status, IoStatus::kAgain);
}

TYPED_TEST(ByteStreamTest, CarriesBothDirections) {
  const Bytes to_b = Pattern(700, 1);
  const Bytes to_a = Pattern(900, 2);
  this->WriteAll(this->a(), to_b);
  this->WriteAll(this->b(), to_a);
  this->ExpectBytes(this->b(), to_b);
  this->ExpectBytes(this->a(), to_a);
}

TYPED_TEST(ByteStreamTest, BuffersBelongToTheCallerAfterTheCall) {
  Bytes bytes = Pattern(500, 3);
  const Bytes original = bytes;
  this->WriteAll(this->a(), bytes);
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  this->ExpectBytes(this->b(), original);
}

TYPED_TEST(ByteStreamTest, FullStreamIsAgainAndRecovers) {
  const Bytes piece = Pattern(64u << 10, 4);
  uint64_t written = 0;
  int again = 0;
  while (again < 50 && written < (64u << 20)) {
    const size_t at = written % piece.size();
    const ConstBuffer buffer(piece.data() + at, piece.size() - at);
    const IoResult result = this->a().WriteSome(std::span<const ConstBuffer>(&buffer, 1));
    if (result.status == IoStatus::kAgain) {
      ++again;
      continue;
    }
    ASSERT_EQ(result.status, IoStatus::kOk);
    ASSERT_LE(result.bytes, buffer.size_bytes);
    again = 0;
    written += result.bytes;
  }
  ASSERT_LT(written, 64u << 20) << "nothing bounds what is under way";
  Bytes chunk(100'000);
  for (uint64_t read = 0; read < written;) {
    const IoResult result = this->ReadPatiently(this->b(), &chunk);
    ASSERT_EQ(result.status, IoStatus::kOk);
    for (size_t i = 0; i < result.bytes; ++i) {
      ASSERT_EQ(chunk[i], piece[(read + i) % piece.size()]) << "at byte " << read + i;
    }
    read += result.bytes;
  }
  this->WriteAll(this->a(), Bytes(1));
}

TYPED_TEST(ByteStreamTest, OrderAndContentSurviveAnyCutting) {
  const Bytes bytes = Pattern(1u << 20, 5);
  std::mt19937 random(5);
  size_t written = 0;
  Bytes got;
  Bytes chunk(50'000);
  while (got.size() < bytes.size()) {
    std::vector<ConstBuffer> from;
    for (size_t at = written; at < bytes.size() && from.size() < 20;) {
      const size_t part = std::min<size_t>(bytes.size() - at, random() % 3000);
      from.emplace_back(bytes.data() + at, part);  // empty pieces too
      at += part;
    }
    const IoResult wrote = this->a().WriteSome(from);
    if (wrote.status == IoStatus::kOk) written += wrote.bytes;
    std::vector<MutableBuffer> into;
    size_t offered = 0;
    while (offered < chunk.size() / 2) {
      const size_t part = std::min<size_t>(chunk.size() - offered, random() % 5000);
      into.emplace_back(chunk.data() + offered, part);
      offered += part;
    }
    const IoResult read = this->b().ReadSome(into);
    if (read.status == IoStatus::kAgain) continue;
    ASSERT_EQ(read.status, IoStatus::kOk);
    got.insert(got.end(), chunk.begin(), chunk.begin() + static_cast<ptrdiff_t>(read.bytes));
  }
  EXPECT_TRUE(got == bytes);
}

TYPED_TEST(ByteStreamTest, TakesAThousandPieces) {
  const Bytes bytes = Pattern(8 * kMaxIovecs, 6);
  std::vector<ConstBuffer> from;
  for (int i = 0; i < kMaxIovecs; ++i) from.emplace_back(bytes.data() + 8 * i, size_t{8});
  size_t written = 0;
  Bytes got(bytes.size());
  size_t read = 0;
  for (int turns = 0; read < bytes.size() && turns < 1'000'000; ++turns) {
    const IoResult wrote = this->a().WriteSome(std::span<const ConstBuffer>(from).subspan(0));
    ASSERT_NE(wrote.status, IoStatus::kError);
    written += wrote.bytes;
    // Drops what is written from the front of the list.
    size_t gone = wrote.bytes;
    size_t first = 0;
    while (first < from.size() && gone >= from[first].size_bytes) gone -= from[first++].size_bytes;
    from.erase(from.begin(), from.begin() + static_cast<ptrdiff_t>(first));
    if (!from.empty()) from[0] = ConstBuffer(from[0].data + gone, from[0].size_bytes - gone);
    std::vector<MutableBuffer> into;
    for (size_t at = read; at < got.size() && into.size() < kMaxIovecs; at += 8) {
      into.emplace_back(got.data() + at, std::min<size_t>(8, got.size() - at));
    }
    const IoResult result = this->b().ReadSome(into);
    ASSERT_NE(result.status, IoStatus::kError);
    read += result.bytes;
  }
  EXPECT_EQ(written, bytes.size());
  EXPECT_TRUE(got == bytes);
}

TYPED_TEST(ByteStreamTest, EndComesAfterTheLastByte) {
  const Bytes bytes = Pattern(900, 7);
  this->WriteAll(this->a(), bytes);
  this->a().Shutdown();
  this->ExpectBytes(this->b(), bytes);
  Bytes into(16);
  EXPECT_EQ(this->ReadPatiently(this->b(), &into).status, IoStatus::kClosed);
  EXPECT_EQ(this->ReadPatiently(this->b(), &into).status, IoStatus::kClosed) << "it stays";
}

TYPED_TEST(ByteStreamTest, HalfCloseLeavesTheOtherDirection) {
  if constexpr (HalfCloseable<typename TypeParam::Stream>) {
    const Bytes bytes = Pattern(900, 8);
    this->WriteAll(this->a(), bytes);
    this->a().ShutdownWrite();
    this->ExpectBytes(this->b(), bytes);
    Bytes into(16);
    EXPECT_EQ(this->ReadPatiently(this->b(), &into).status, IoStatus::kClosed);
    this->WriteAll(this->b(), bytes);
    this->ExpectBytes(this->a(), bytes);
  }
}

TYPED_TEST(ByteStreamTest, ShutdownEndsOwnCallsAndIsIdempotent) {
  this->a().Shutdown();
  this->a().Shutdown();
  Bytes into(16);
  EXPECT_EQ(this->ReadPatiently(this->a(), &into).status, IoStatus::kClosed);
  const ConstBuffer one(into.data(), size_t{1});
  for (int i = 0; i < 1000; ++i) {
    const IoResult result = this->a().WriteSome(std::span<const ConstBuffer>(&one, 1));
    if (result.status == IoStatus::kAgain) continue;  // a fault, not the stream
    EXPECT_EQ(result.status, IoStatus::kClosed);
    break;
  }
}

TYPED_TEST(ByteStreamTest, WritingToAPeerThatIsGoneFails) {
  { auto gone = std::move(this->b()); }
  const Bytes bytes(4096);
  const MonotonicTime give_up = DeadlineAfter(MonotonicNow(), 10 * kNanosecondsPerSecond);
  IoResult result;
  do {
    const ConstBuffer buffer(bytes.data(), bytes.size());
    result = this->a().WriteSome(std::span<const ConstBuffer>(&buffer, 1));
  } while ((result.status == IoStatus::kOk || result.status == IoStatus::kAgain) &&
           MonotonicNow() < give_up);
  EXPECT_TRUE(result.status == IoStatus::kClosed || result.status == IoStatus::kError);
}

TYPED_TEST(ByteStreamTest, ArmWakesForBytesAndForTheEnd) {
  Bytes into(64);
  this->ReadOne(this->b(), &into);
  while (!this->b().Arm()) this->ReadOne(this->b(), &into);
  pollfd fd{.fd = this->b().wait_fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&fd, 1, 0), 0) << "readable without a reason";
  this->WriteAll(this->a(), Pattern(10, 9));
  EXPECT_EQ(poll(&fd, 1, 5000), 1);
  this->ExpectBytes(this->b(), Pattern(10, 9));
  this->ReadOne(this->b(), &into);
  while (!this->b().Arm()) this->ReadOne(this->b(), &into);
  this->a().Shutdown();
  EXPECT_EQ(poll(&fd, 1, 5000), 1);
  EXPECT_EQ(this->ReadPatiently(this->b(), &into).status, IoStatus::kClosed);
}

TYPED_TEST(ByteStreamTest, KnowsItsPeer) { EXPECT_FALSE(this->a().peer().address.empty()); }

}  // namespace
}  // namespace vof
