// SPDX-License-Identifier: Apache-2.0
#include "core/engine/keyed_request_parser.h"

#include <cstdint>
#include <vector>

#include "core/engine/remote_cursor.h"
#include "core/wire/ref.h"
#include "core/wire/v5.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

using Bytes = std::vector<std::byte>;

KeyedLimits Inline() {
  return {.sizes = {},
          .inline_accepted = true,
          .max_inline_request_bytes = 64,
          .max_inline_completion_bytes = 32};
}

template <typename C>
struct Message {
  Command command{.kind = CommandKind::kVq, .command_id = 5};
  std::vector<Segment> segments;
  Bytes inline_bytes;

  Bytes Encode(bool with_fields) {
    command.ndesc = static_cast<uint16_t>(segments.size());
    Bytes bytes(kHeaderBytes);
    C::EncodeCommand(command, HeaderOut(bytes.data(), size_t{kHeaderBytes}));
    if (with_fields) {
      EncodeInlineFields(
          {static_cast<uint8_t>(segments.size()), static_cast<uint16_t>(inline_bytes.size())},
          HeaderOut(bytes.data(), size_t{kHeaderBytes}));
    }
    for (const Segment& segment : segments) {
      bytes.resize(bytes.size() + C::kDescriptorBytes);
      C::EncodeSegment(segment, std::span(bytes).last(C::kDescriptorBytes));
    }
    bytes.insert(bytes.end(), inline_bytes.begin(), inline_bytes.end());
    return bytes;
  }
  ParseResult Parse(const Bytes& bytes, const KeyedLimits& limits) {
    return ParseKeyedRequest<C>(command, bytes, limits, &shape, &error);
  }
  ParseResult Parse(const KeyedLimits& limits) {
    encoded = Encode(limits.inline_accepted);
    return Parse(encoded, limits);
  }
  Bytes encoded;
  KeyedShape shape;
  WireError error = WireError::kNone;
};

Segment At(uint64_t address, uint32_t length, bool writable = false, uint32_t key = 1) {
  return {.address = address, .length_bytes = length, .key = key, .id = 0, .writable = writable};
}

TEST(KeyedRequestParserV5, OneDescriptorMaySpanTheBorder) {
  Message<V5> m;
  m.command.out_length = 100;
  m.command.in_length = 50;
  m.segments = {At(0x1000, 60), At(0x5000, 90)};
  ASSERT_EQ(m.Parse({}), ParseResult::kComplete);
  EXPECT_EQ(m.shape.writable_offset, 100u);
  EXPECT_TRUE(m.shape.has_writable_descriptors);
  RemoteCursor<V5> cursor(m.shape.descriptors, m.shape.writable_offset);
  const RemoteBuffer piece = cursor.Next(1000);
  EXPECT_EQ(piece.address, 0x5000u + 40);
  EXPECT_EQ(piece.size_bytes, 50u);
  EXPECT_TRUE(cursor.at_end());
}

TEST(KeyedRequestParserV5, DescriptorsMustCoverTheRequestExactly) {
  for (const uint32_t length : {149u, 151u, 100u}) {
    Message<V5> m;
    m.command.out_length = 100;
    m.command.in_length = 50;
    m.segments = {At(0x1000, length)};
    EXPECT_EQ(m.Parse({}), ParseResult::kBroken) << length;
    EXPECT_EQ(m.error, WireError::kDescriptorTotal);
  }
}

TEST(KeyedRequestParserV5, InlineBytesAreTheFirstAndASmallAnswerNeedsNoPlace) {
  Message<V5> m;
  m.command.out_length = 100;
  m.command.in_length = 32;
  m.inline_bytes.resize(16);
  m.segments = {At(0x1000, 84)};
  ASSERT_EQ(m.Parse(Inline()), ParseResult::kComplete);
  EXPECT_EQ(m.shape.inline_bytes.size(), 16u);
  EXPECT_EQ(m.shape.writable_offset, 84u);
  EXPECT_FALSE(m.shape.has_writable_descriptors);
  m.command.in_length = 33;  // more than a completion carries
  EXPECT_EQ(m.Parse(Inline()), ParseResult::kBroken);
  EXPECT_EQ(m.error, WireError::kDescriptorTotal);
}

TEST(KeyedRequestParserV5, MoreInlineBytesThanAgreedOrThanThereAre) {
  Message<V5> m;
  m.command.out_length = 100;
  m.inline_bytes.resize(65);
  m.segments = {At(0x1000, 35)};
  EXPECT_EQ(m.Parse(Inline()), ParseResult::kBroken);
  EXPECT_EQ(m.error, WireError::kInlineLength);
  m.command.out_length = 10;
  m.inline_bytes.resize(11);
  m.segments.clear();
  EXPECT_EQ(m.Parse(Inline()), ParseResult::kBroken);
  EXPECT_EQ(m.error, WireError::kInlineLength);
}

TEST(KeyedRequestParserV5, EveryOtherMessageLengthIsBroken) {
  Message<V5> m;
  m.command.out_length = 100;
  m.command.in_length = 1;
  m.inline_bytes.resize(16);
  m.segments = {At(0x1000, 84), At(0x9000, 1)};
  const Bytes whole = m.Encode(true);
  ASSERT_EQ(m.Parse(whole, Inline()), ParseResult::kComplete);
  for (size_t n = kHeaderBytes; n < whole.size() + 40; ++n) {
    Bytes cut = whole;
    cut.resize(n);
    if (n == whole.size()) continue;
    EXPECT_EQ(m.Parse(cut, Inline()), ParseResult::kBroken) << n;
  }
}

TEST(KeyedRequestParserV5, LengthsThatWrapAndSizesBeyondTheLimits) {
  Message<V5> m;
  m.command.out_length = 0xffffffff;
  EXPECT_EQ(m.Parse({}), ParseResult::kOutTooLarge);
  m.command.out_length = 0;
  m.command.in_length = 0xffffffff;
  EXPECT_EQ(m.Parse({}), ParseResult::kInTooLarge);
  m.command.in_length = 100;
  m.segments = {At(UINT64_MAX - 50, 100)};
  EXPECT_EQ(m.Parse({}), ParseResult::kBroken);
  EXPECT_EQ(m.error, WireError::kAddressWraps);
  m.segments = {At(0x1000, 100), At(0x2000, 0)};
  EXPECT_EQ(m.Parse({}), ParseResult::kBroken);
  EXPECT_EQ(m.error, WireError::kZeroLengthSegment);
  // 2^32 + 100 as a sum.
  m.segments = {At(0x1000, 0x80000000), At(0x1000, 0x80000000), At(0x1000, 100)};
  EXPECT_EQ(m.Parse({}), ParseResult::kBroken);
  EXPECT_EQ(m.error, WireError::kDescriptorTotal);
}

TEST(KeyedRequestParserRef, SegmentsByDirectionAndExactMessageLength) {
  Message<Ref> m;
  m.segments = {At(0x1000, 16), At(0x2000, 4096, true), At(0x9000, 1, true)};
  ASSERT_EQ(m.Parse({}), ParseResult::kComplete);
  EXPECT_EQ(m.shape.out_bytes, 16u);
  EXPECT_EQ(m.shape.in_bytes, 4097u);
  EXPECT_EQ(m.shape.num_writable, 2u);
  Bytes longer = m.encoded;
  longer.push_back(std::byte{0});
  EXPECT_EQ(m.Parse(longer, {}), ParseResult::kBroken);
  EXPECT_EQ(m.error, WireError::kMessageLength);
  m.segments = {At(0x2000, 1, true), At(0x1000, 16)};
  EXPECT_EQ(m.Parse({}), ParseResult::kBroken);
  EXPECT_EQ(m.error, WireError::kSegmentOrder);
  m.segments.clear();
  EXPECT_EQ(m.Parse({}), ParseResult::kBroken);
  EXPECT_EQ(m.error, WireError::kNoDescriptors);
}

TEST(RemoteCursor, MergesNeighboursUnderOneKeyUpToTheLimit) {
  Message<V5> m;
  m.command.in_length = 400;
  m.segments = {At(0x1000, 100), At(0x1064, 100), At(0x10c8, 100, false, 2), At(0x112c, 100)};
  ASSERT_EQ(m.Parse({}), ParseResult::kComplete);
  RemoteCursor<V5> cursor(m.shape.descriptors, 10);
  RemoteBuffer piece = cursor.Next(150);
  EXPECT_EQ(piece.address, 0x100au);
  EXPECT_EQ(piece.size_bytes, 150u);
  EXPECT_EQ(cursor.Next(1000).size_bytes, 40u) << "the next has another key";
  piece = cursor.Next(1000);
  EXPECT_EQ(piece.key, 2u);
  EXPECT_EQ(piece.size_bytes, 100u);
  EXPECT_EQ(cursor.Next(1000).size_bytes, 100u);
  EXPECT_EQ(cursor.Next(1000).size_bytes, 0u);
}

}  // namespace
}  // namespace vof
