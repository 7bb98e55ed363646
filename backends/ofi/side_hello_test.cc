// SPDX-License-Identifier: Apache-2.0
#include "backends/ofi/side_hello.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <random>

namespace vof {
namespace {

using Bytes = std::vector<std::byte>;

Bytes Name(size_t size_bytes) {
  Bytes name(size_bytes);
  for (size_t i = 0; i < name.size(); ++i) name[i] = static_cast<std::byte>(i * 7);
  return name;
}

Bytes GoodHello() { return EncodeHello({SideAnswer::kWelcome, "shm", Name(19)}); }

// At most `piece_bytes` at a time. `*used` is what it asked for.
HelloState Parse(const Bytes& bytes, size_t piece_bytes, SideHelloParser* parser, size_t* used) {
  HelloState state = HelloState::kMore;
  *used = 0;
  while (state == HelloState::kMore && *used < bytes.size()) {
    const std::span<std::byte> wanted = parser->Wanted();
    EXPECT_FALSE(wanted.empty());
    const size_t size = std::min({wanted.size(), piece_bytes, bytes.size() - *used});
    std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(*used), size, wanted.begin());
    *used += size;
    state = parser->Filled(size);
  }
  return state;
}

void ExpectMalformed(Bytes bytes, const char* problem) {
  SideHelloParser parser;
  size_t used = 0;
  EXPECT_EQ(Parse(bytes, 1000, &parser, &used), HelloState::kMalformed) << problem;
  EXPECT_NE(parser.problem().find(problem), std::string_view::npos) << parser.problem();
}

TEST(SideHelloTest, ComesBackInPiecesOfEverySize) {
  for (const size_t name_bytes : {size_t{1}, size_t{16}, kMaxSideNameBytes}) {
    const SideHello hello{SideAnswer::kWelcome, std::string(kMaxSideProviderBytes, 'p'),
                          Name(name_bytes)};
    Bytes bytes = EncodeHello(hello);
    const size_t size = bytes.size();
    bytes.resize(size + 100);  // what follows is not touched
    for (size_t piece = 1; piece <= bytes.size(); ++piece) {
      SideHelloParser parser;
      size_t used = 0;
      ASSERT_EQ(Parse(bytes, piece, &parser, &used), HelloState::kComplete);
      EXPECT_EQ(used, size);
      EXPECT_EQ(parser.hello().provider, hello.provider);
      EXPECT_TRUE(parser.hello().name == hello.name);
    }
  }
}

TEST(SideHelloTest, LayoutIsThatOfTheHeader) {
  const Bytes bytes = EncodeHello({SideAnswer::kWelcome, "shm", Name(2)});
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EXPECT_EQ(text,
            std::string("VOFS\x01\x00\x03\x00\x02\x00\x00\x00\x00\x00\x00\x00shm\x00\x07", 21));
}

TEST(SideHelloTest, RefusalHasNoName) {
  SideHelloParser parser;
  size_t used = 0;
  ASSERT_EQ(Parse(EncodeHello({SideAnswer::kOtherProvider, "net", {}}), 1000, &parser, &used),
            HelloState::kComplete);
  EXPECT_EQ(parser.hello().answer, SideAnswer::kOtherProvider);
  EXPECT_EQ(parser.hello().provider, "net");
}

TEST(SideHelloTest, NamesTheRuleThatWasBroken) {
  const auto with = [](size_t at, int value) {
    Bytes bytes = GoodHello();
    bytes[at] = static_cast<std::byte>(value);
    return bytes;
  };
  ExpectMalformed(with(0, 'X'), "VOFS");
  ExpectMalformed(with(4, 2), "version");
  ExpectMalformed(with(5, 4), "answer is unknown");
  ExpectMalformed(with(5, 1), "only then");
  ExpectMalformed(with(6, 0), "1 to 64");
  ExpectMalformed(with(6, 65), "1 to 64");
  ExpectMalformed(with(7, 1), "1 to 64");
  ExpectMalformed(with(9, 1), "256");
  ExpectMalformed(with(8, 0), "only then");
  ExpectMalformed(with(16, '\n'), "printable");
}

TEST(SideHelloTest, NeverWantsMoreThanAHelloOfWhateverBytes) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    Bytes bytes = GoodHello();
    bytes.resize(2000);
    const size_t changed = random() % 3 + 1;
    for (size_t i = 0; i < changed; ++i) bytes[random() % 40] = static_cast<std::byte>(random());
    SideHelloParser parser;
    size_t used = 0;
    const HelloState state = Parse(bytes, random() % 50 + 1, &parser, &used);
    EXPECT_NE(state, HelloState::kMore);
    EXPECT_LE(used, kMaxSideHelloBytes);
  }
}

TEST(SideHelloTest, ReadsNoByteBehindTheHello) {
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  SideHelloParser parser;
  EXPECT_EQ(ReadHello(fds[1], &parser), SideRead::kAgain);
  ASSERT_TRUE(WriteHello(fds[0], {SideAnswer::kWelcome, "shm", Name(5)}));
  ASSERT_EQ(send(fds[0], "x", 1, 0), 1);
  EXPECT_EQ(ReadHello(fds[1], &parser), SideRead::kComplete);
  char next = 0;
  EXPECT_EQ(recv(fds[1], &next, 1, 0), 1);
  EXPECT_EQ(next, 'x');
  close(fds[0]);
  SideHelloParser late;
  EXPECT_EQ(ReadHello(fds[1], &late), SideRead::kClosed);
  EXPECT_FALSE(WriteHello(fds[1], {SideAnswer::kWelcome, "shm", Name(5)}));
  close(fds[1]);
}

}  // namespace
}  // namespace vof
