// SPDX-License-Identifier: Apache-2.0
#include "core/engine/output_queue.h"

#include <array>
#include <cstring>
#include <random>
#include <string>

#include "gtest/gtest.h"

namespace vof {
namespace {

void CopyText(OutputQueue& out, const std::string& text) {
  std::memcpy(out.Copy(text.size()), text.data(), text.size());
}

std::string Pending(const OutputQueue& out) {
  std::array<ConstBuffer, 64> pieces;
  std::string text;
  const int n = out.Fill(pieces);
  for (int i = 0; i < n; ++i) {
    text.append(reinterpret_cast<const char*>(pieces[i].data), pieces[i].size_bytes);
  }
  return text;
}

TEST(OutputQueueTest, KeepsOrderOfCopiesAndReferences) {
  OutputQueue out(64, 8);
  const std::string lent = "lent";
  CopyText(out, "a");
  out.Reference(ConstBuffer(lent.data(), lent.size()));
  CopyText(out, "b");
  EXPECT_EQ(Pending(out), "alentb");
  EXPECT_EQ(out.pending_bytes(), 6u);
  out.Consume(3);
  EXPECT_EQ(Pending(out), "ntb");
  out.Consume(3);
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(out.consumed_bytes(), 6u);
}

TEST(OutputQueueTest, AdjacentCopiesAreOnePiece) {
  OutputQueue out(64, 8);
  for (int i = 0; i < 4; ++i) CopyText(out, "abcd");
  std::array<ConstBuffer, 8> pieces;
  EXPECT_EQ(out.Fill(pieces), 1);
  EXPECT_EQ(pieces[0].size_bytes, 16u);
}

TEST(OutputQueueTest, RoomEndsWithBytesAndWithPieces) {
  OutputQueue out(32, 4);
  EXPECT_TRUE(out.HasRoom(32, 0));
  EXPECT_FALSE(out.HasRoom(33, 0));
  EXPECT_TRUE(out.HasRoom(1, 3));
  EXPECT_FALSE(out.HasRoom(1, 4));
  CopyText(out, std::string(20, 'x'));
  EXPECT_TRUE(out.HasRoom(12, 0));
  EXPECT_FALSE(out.HasRoom(13, 0));
  // A contiguous copy has to skip the end of the ring.
  out.Reference(ConstBuffer("r", 1));
  CopyText(out, "y");
  out.Consume(21);
  EXPECT_TRUE(out.HasRoom(20, 0));
  EXPECT_FALSE(out.HasRoom(21, 0));
}

TEST(OutputQueueTest, EmptyReferencesAreNothing) {
  OutputQueue out(32, 4);
  out.Reference(ConstBuffer());
  EXPECT_TRUE(out.empty());
}

TEST(OutputQueueTest, ClearForgetsAndTrimKeepsWorking) {
  OutputQueue out(32, 4);
  CopyText(out, "abc");
  out.Clear();
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(out.consumed_bytes(), out.appended_bytes());
  out.Trim();
  CopyText(out, "def");
  EXPECT_EQ(Pending(out), "def");
}

// Any mixture comes out as it went in, whatever the stream takes at a time.
TEST(OutputQueueTest, RandomTraffic) {
  std::mt19937 random(7);
  OutputQueue out(256, 16);
  std::string source(4096, '\0');
  for (char& c : source) c = static_cast<char>(random());
  std::string expected, sent;
  for (int step = 0; step < 20000; ++step) {
    const size_t n = 1 + random() % 60;
    const size_t at = random() % (source.size() - n);
    if (random() % 2 == 0 && out.HasRoom(n, 0)) {
      CopyText(out, source.substr(at, n));
      expected += source.substr(at, n);
    } else if (out.HasRoom(0, 1)) {
      out.Reference(ConstBuffer(source.data() + at, n));
      expected += source.substr(at, n);
    }
    const std::string pending = Pending(out);
    ASSERT_EQ(pending, expected.substr(sent.size(), pending.size()));
    ASSERT_EQ(pending.size(), out.pending_bytes());
    const size_t taken = pending.empty() ? 0 : random() % (pending.size() + 1);
    out.Consume(taken);
    sent += pending.substr(0, taken);
  }
}

}  // namespace
}  // namespace vof
