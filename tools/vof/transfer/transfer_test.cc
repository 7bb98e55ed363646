// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/transfer/transfer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <thread>
#include <vector>

#include "tools/vof/transfer/fake_endpoint.h"
#include "tools/vof/transfer/unique_fd.h"

namespace vof {
namespace {

constexpr PieceLimits kSmallPieces{.alignment_bytes = 512, .data_bytes = 8192, .hole_bytes = 32768};

// Data with holes of many sizes.
void FillWithHoles(std::vector<std::byte>* bytes, uint64_t seed) {
  std::mt19937_64 random(seed);
  for (size_t at = 0; at < bytes->size();) {
    const size_t run = std::min<size_t>(random() % 30'000 + 1, bytes->size() - at);
    if (random() % 2 == 0) {
      std::generate_n(bytes->begin() + static_cast<std::ptrdiff_t>(at), run,
                      [&] { return static_cast<std::byte>(random() | 1); });
    }
    at += run;
  }
}

std::vector<std::byte> Padded(std::vector<std::byte> bytes, size_t size_bytes) {
  bytes.resize(size_bytes);
  return bytes;
}

struct Pipe {
  UniqueFd read, write;
};
Pipe MakePipe() {
  int fds[2] = {-1, -1};
  EXPECT_EQ(pipe2(fds, O_CLOEXEC), 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

TEST(TransferTest, CopiesEveryByteAndFlushesOnce) {
  FakeEndpoint from(1'000'000), to(1'000'448, {.block_bytes = 512});
  FillWithHoles(&from.bytes(), 1);
  std::fill(to.bytes().begin(), to.bytes().end(), std::byte{0xee});
  RangeSource source(&from, {.size_bytes = from.size_bytes()}, kSmallPieces);
  EndpointSink sink(&to, {.size_bytes = to.size_bytes()});
  TransferCounts counts;
  ASSERT_EQ(RunTransfer(&source, &sink, {.depth = 4, .limits = kSmallPieces}, &counts),
            absl::OkStatus());
  EXPECT_EQ(counts.bytes, 1'000'000u);
  EXPECT_EQ(to.bytes(), Padded(from.bytes(), 1'000'448));
  EXPECT_FALSE(to.saw_unaligned());
  EXPECT_EQ(to.num_flushes(), 1);
  EXPECT_GT(counts.zero_bytes, 0u);
}

TEST(TransferTest, HolesAreNeitherReadNorWritten) {
  FakeEndpoint from(1 << 20, {.hole_unit_bytes = 65536}), to(1 << 20, {.block_bytes = 512});
  from.bytes()[300'000] = std::byte{1};
  RangeSource source(&from, {.size_bytes = from.size_bytes()}, kSmallPieces);
  EndpointSink sink(&to, {.size_bytes = to.size_bytes()});
  TransferCounts counts;
  ASSERT_EQ(RunTransfer(&source, &sink, {.depth = 2, .limits = kSmallPieces}, &counts),
            absl::OkStatus());
  EXPECT_EQ(to.bytes(), from.bytes());
  EXPECT_EQ(from.read_bytes(), 65536u);
  EXPECT_EQ(to.written_bytes(), 4096u);
  EXPECT_EQ(counts.zero_bytes, (1u << 20) - 4096);
}

TEST(TransferTest, RangesStartWhereTheyAreTold) {
  FakeEndpoint from(50'000), to(50'000);
  FillWithHoles(&from.bytes(), 2);
  RangeSource source(&from, {.offset_bytes = 777, .size_bytes = 20'000}, kSmallPieces);
  EndpointSink sink(&to, {.offset_bytes = 10'240, .size_bytes = 30'000});
  TransferCounts counts;
  ASSERT_EQ(RunTransfer(&source, &sink, {.depth = 3, .limits = kSmallPieces}, &counts),
            absl::OkStatus());
  EXPECT_TRUE(std::equal(from.bytes().begin() + 777, from.bytes().begin() + 20'777,
                         to.bytes().begin() + 10'240));
  EXPECT_TRUE(std::all_of(to.bytes().begin(), to.bytes().begin() + 10'240,
                          [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST(TransferTest, FirstErrorIsTheResult) {
  for (const bool source_fails : {true, false}) {
    FakeEndpoint from(1 << 20), to(1 << 20);
    std::fill(from.bytes().begin(), from.bytes().end(), std::byte{5});
    (source_fails ? from : to).FailAt(500'000);
    RangeSource source(&from, {.size_bytes = from.size_bytes()}, kSmallPieces);
    EndpointSink sink(&to, {.size_bytes = to.size_bytes()});
    TransferCounts counts;
    const absl::Status moved =
        RunTransfer(&source, &sink, {.depth = 4, .limits = kSmallPieces}, &counts);
    EXPECT_EQ(moved.message(), source_fails ? "fake read error" : "fake write error");
    EXPECT_LT(counts.bytes, 1u << 20);
    EXPECT_EQ(to.num_flushes(), 0);
    // What is called the first bytes is there, and ends where the failure is at the latest.
    EXPECT_LE(counts.prefix_bytes, std::min<uint64_t>(counts.bytes, 500'000));
    EXPECT_TRUE(std::equal(to.bytes().begin(),
                           to.bytes().begin() + static_cast<ptrdiff_t>(counts.prefix_bytes),
                           from.bytes().begin()));
    EXPECT_FALSE(counts.all_moved);
  }
}

TEST(TransferTest, PipesKeepTheOrder) {
  FakeEndpoint from(3'000'001, {.hole_unit_bytes = 4096});
  FillWithHoles(&from.bytes(), 3);
  Pipe pipe = MakePipe();
  FakeEndpoint to(3'000'320, {.block_bytes = 512});

  std::thread writer([&] {
    RangeSource source(&from, {.size_bytes = from.size_bytes()}, kSmallPieces);
    PipeSink sink("pipe", pipe.write.get());
    TransferCounts counts;
    EXPECT_EQ(RunTransfer(&source, &sink, {.depth = 8, .limits = kSmallPieces}, &counts),
              absl::OkStatus());
    pipe.write = UniqueFd();
  });
  PipeSource source("pipe", pipe.read.get(), UINT64_MAX, kSmallPieces);
  EndpointSink sink(&to, {.size_bytes = to.size_bytes()});
  TransferCounts counts;
  EXPECT_EQ(RunTransfer(&source, &sink, {.depth = 8, .limits = kSmallPieces}, &counts),
            absl::OkStatus());
  writer.join();
  EXPECT_EQ(counts.bytes, 3'000'001u);
  EXPECT_EQ(to.bytes(), Padded(from.bytes(), 3'000'320));
}

TEST(TransferTest, PipeIsReadNoFurtherThanAllowed) {
  Pipe pipe = MakePipe();
  ASSERT_EQ(write(pipe.write.get(), "0123456789", 10), 10);
  FakeEndpoint to(100);
  PipeSource source("pipe", pipe.read.get(), 4, kSmallPieces);
  EndpointSink sink(&to, {.size_bytes = 100});
  TransferCounts counts;
  ASSERT_EQ(RunTransfer(&source, &sink, {.depth = 2, .limits = kSmallPieces}, &counts),
            absl::OkStatus());
  EXPECT_EQ(counts.bytes, 4u);
  EXPECT_EQ(to.bytes()[3], std::byte{'3'});
  EXPECT_EQ(to.bytes()[4], std::byte{0});
}

TEST(TransferTest, InputLargerThanTheRoomIsOutOfRange) {
  Pipe pipe = MakePipe();
  ASSERT_EQ(write(pipe.write.get(), "0123456789", 10), 10);
  pipe.write = UniqueFd();
  FakeEndpoint to(9);
  PipeSource source("pipe", pipe.read.get(), UINT64_MAX, kSmallPieces);
  EndpointSink sink(&to, {.size_bytes = 9});
  TransferCounts counts;
  const absl::Status moved =
      RunTransfer(&source, &sink, {.depth = 2, .limits = kSmallPieces}, &counts);
  EXPECT_EQ(moved.code(), absl::StatusCode::kOutOfRange) << moved;
}

TEST(TransferTest, ReaderThatGoesAwayStopsAllWorkers) {
  signal(SIGPIPE, SIG_IGN);
  FakeEndpoint from(8 << 20);
  std::fill(from.bytes().begin(), from.bytes().end(), std::byte{5});
  Pipe pipe = MakePipe();
  pipe.read = UniqueFd();
  RangeSource source(&from, {.size_bytes = from.size_bytes()}, kSmallPieces);
  PipeSink sink("standard output", pipe.write.get());
  TransferCounts counts;
  const absl::Status moved =
      RunTransfer(&source, &sink, {.depth = 8, .limits = kSmallPieces}, &counts);
  EXPECT_EQ(moved.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(moved.message(), "the reader of standard output went away");
}

TEST(TransferTest, StopDoesNotWaitForTheReader) {
  FakeEndpoint from(1 << 20);
  std::fill(from.bytes().begin(), from.bytes().end(), std::byte{5});
  Pipe pipe = MakePipe();
  RangeSource source(&from, {.size_bytes = from.size_bytes()}, kSmallPieces);
  PipeSink sink("standard output", pipe.write.get());
  bool waited_for_reader = false;
  const TransferOptions options = {.depth = 4,
                                   .limits = kSmallPieces,
                                   .tick = [](uint64_t) { return false; },
                                   .on_slow_stop =
                                       [&](int num_pieces) {
                                         EXPECT_EQ(num_pieces, 1);
                                         waited_for_reader = sink.waits_for_reader();
                                         pipe.read = UniqueFd();
                                       }};
  signal(SIGPIPE, SIG_IGN);
  TransferCounts counts;
  const absl::Status moved = RunTransfer(&source, &sink, options, &counts);
  EXPECT_EQ(moved.code(), absl::StatusCode::kCancelled) << moved;
  EXPECT_TRUE(waited_for_reader);
  EXPECT_FALSE(sink.waits_for_reader());
}

TEST(TransferTest, TickStopsAReaderThatWaits) {
  Pipe pipe = MakePipe();  // nobody writes
  FakeEndpoint to(4096);
  PipeSource source("pipe", pipe.read.get(), UINT64_MAX, kSmallPieces);
  EndpointSink sink(&to, {.size_bytes = 4096});
  TransferCounts counts;
  const absl::Status moved = RunTransfer(
      &source, &sink, {.depth = 2, .limits = kSmallPieces, .tick = [](uint64_t) { return false; }},
      &counts);
  EXPECT_EQ(moved.code(), absl::StatusCode::kCancelled);
}

TEST(FindDifferenceTest, EqualIsNothing) {
  FakeEndpoint a(300'000, {.hole_unit_bytes = 4096}), b(300'000);
  FillWithHoles(&a.bytes(), 4);
  b.bytes() = a.bytes();
  TransferCounts counts;
  const auto found = FindDifference(&a, &b, 300'000, {.depth = 4, .limits = kSmallPieces}, &counts);
  ASSERT_EQ(found.status(), absl::OkStatus());
  EXPECT_FALSE(found->has_value());
  EXPECT_EQ(counts.bytes, 300'000u);
}

TEST(FindDifferenceTest, ReportsTheFirstOfSeveral) {
  for (const uint64_t first : {0u, 4095u, 4096u, 123'456u, 299'999u}) {
    FakeEndpoint a(300'000, {.hole_unit_bytes = 4096}), b(300'000, {.hole_unit_bytes = 512});
    FillWithHoles(&a.bytes(), 5);
    b.bytes() = a.bytes();
    for (uint64_t at = first; at < 300'000; at += 777) b.bytes()[at] ^= std::byte{0x40};
    TransferCounts counts;
    const auto found =
        FindDifference(&a, &b, 300'000, {.depth = 8, .limits = kSmallPieces}, &counts);
    ASSERT_EQ(found.status(), absl::OkStatus());
    ASSERT_TRUE(found->has_value());
    EXPECT_EQ(**found, first);
  }
}

TEST(FindDifferenceTest, ReadErrorIsNotADifference) {
  FakeEndpoint a(300'000), b(300'000);
  b.FailAt(200'000);
  TransferCounts counts;
  const auto found = FindDifference(&a, &b, 300'000, {.depth = 4, .limits = kSmallPieces}, &counts);
  EXPECT_EQ(found.status().message(), "fake read error");
  // What was compared before it counts; the piece that failed is in the way of the rest.
  EXPECT_LE(counts.prefix_bytes, 200'000u);
  EXPECT_GE(counts.bytes, counts.prefix_bytes);
}

TEST(FindDifferenceTest, WhatIsEqualBeforeADifferenceIsCounted) {
  FakeEndpoint a(300'000), b(300'000);
  b.bytes()[200'000] = std::byte{1};
  TransferCounts counts;
  const auto found = FindDifference(&a, &b, 300'000, {.depth = 1, .limits = kSmallPieces}, &counts);
  ASSERT_EQ(found.status(), absl::OkStatus());
  EXPECT_EQ(counts.prefix_bytes, 200'000u);
}

}  // namespace
}  // namespace vof
