// SPDX-License-Identifier: Apache-2.0
#include "core/wire/detect.h"

#include "core/wire/ref.h"
#include "core/wire/test_bytes.h"
#include "core/wire/v5.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

DialectGuess Detect(std::string_view hex) { return DetectDialect(HeaderOf(hex)); }

TEST(Detect, TellsTheDialectsApart) {
  EXPECT_EQ(Detect("00000100 ffff0000 00040000 80000000"), DialectGuess::kV5);
  EXPECT_EQ(Detect("00000100 05000200 00000000 00000000"), DialectGuess::kV5);
  EXPECT_EQ(Detect("00000000 ffff0000 01000000 00000000"), DialectGuess::kRef);
  EXPECT_EQ(Detect("00000000 ffff0000 01000100 00000000"), DialectGuess::kRef);
}

TEST(Detect, RefInitiatorsLeaveReservedBytesUninitialised) {
  EXPECT_EQ(Detect("0000dc7d ffffffff 010000da 03000000"), DialectGuess::kRef);
}

TEST(Detect, AnythingElseIsNeither) {
  EXPECT_EQ(Detect("01000100 ffff0000 00040000 80000000"), DialectGuess::kNone);  // disconnect
  EXPECT_EQ(Detect("00010100 ffff0000 01000000 00000000"),
            DialectGuess::kNone);  // high opcode byte
  EXPECT_EQ(Detect("00000100 ffff0000 02000000 00000000"), DialectGuess::kNone);
  EXPECT_EQ(Detect("00000100 ffff0000 ff030000 00000000"), DialectGuess::kNone);
  EXPECT_EQ(Detect("00000100 ffff0000 00040100 00000000"), DialectGuess::kNone);
  EXPECT_EQ(Detect("00000100 ffff0000 00000100 00000000"), DialectGuess::kNone);
  EXPECT_EQ(Detect("47455420 2f204854 54502f31 2e310d0a"),
            DialectGuess::kNone);  // "GET / HTTP/1.1"
}

// Whatever the answer is, the codec of that dialect must not contradict it.
TEST(Detect, EveryGuessDecodesAsAConnect) {
  Command command;
  EXPECT_EQ(V5::DecodeCommand(HeaderOf("00000100 ffff0000 00040000 80000000"), command),
            WireError::kNone);
  EXPECT_EQ(command.kind, CommandKind::kConnect);
  EXPECT_EQ(Ref::DecodeCommand(HeaderOf("0000dc7d ffffffff 010000da 03000000"), command),
            WireError::kNone);
  EXPECT_EQ(command.kind, CommandKind::kConnect);
}

}  // namespace
}  // namespace vof
