// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/file_operation.h"

#include <fcntl.h>
#include <linux/falloc.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace vof {
namespace {

using Bytes = std::vector<std::byte>;

// A file in memory that answers steps; the test decides how.
struct FakeFile {
  explicit FakeFile(size_t size) : bytes(size) {}

  // Moves at most `limit` bytes of a transfer.
  int32_t Transfer(const FileStep& step, uint64_t limit) {
    uint64_t at = step.offset_bytes, moved = 0;
    for (const iovec& piece : step.pieces) {
      uint64_t n = std::min<uint64_t>(piece.iov_len, limit - moved);
      if (at >= bytes.size()) break;
      n = std::min<uint64_t>(n, bytes.size() - at);
      if (step.call == FileCall::kRead) {
        std::memcpy(piece.iov_base, bytes.data() + at, n);
      } else {
        std::memcpy(bytes.data() + at, piece.iov_base, n);
      }
      at += n;
      moved += n;
    }
    return static_cast<int32_t>(moved);
  }

  Bytes bytes;
};

Bytes Counting(size_t size) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251);
  return bytes;
}

class FileOperationTest : public ::testing::Test {
 protected:
  FileOperationTest() : zeros_(*ZeroArea::Create()) { rules_.zeros = zeros_.get(); }

  StoreOperation Write(const Bytes& data, uint64_t offset, std::vector<ConstBuffer>* pieces) {
    if (pieces->empty()) pieces->emplace_back(data.data(), data.size());
    StoreOperation op;
    op.verb = StoreVerb::kWrite;
    op.offset_bytes = offset;
    op.length_bytes = data.size();
    op.source = BufferReader(*pieces);
    return op;
  }
  StoreOperation Read(Bytes* data, uint64_t offset, std::vector<MutableBuffer>* pieces) {
    if (pieces->empty()) pieces->emplace_back(data->data(), data->size());
    StoreOperation op;
    op.verb = StoreVerb::kRead;
    op.offset_bytes = offset;
    op.length_bytes = data->size();
    op.destination = BufferWriter(*pieces);
    return op;
  }
  StoreOperation Ranges(StoreVerb verb, std::span<const StoreRange> ranges) {
    StoreOperation op;
    op.verb = verb;
    op.ranges = ranges;
    return op;
  }

  std::shared_ptr<const ZeroArea> zeros_;
  FileRules rules_;
  FileOperation file_op_;
};

TEST_F(FileOperationTest, ShortTransfersAreResumedWhereverTheyStop) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const bool is_read = round % 2 == 0;
    FakeFile file(5000);
    if (is_read) file.bytes = Counting(5000);
    Bytes data = is_read ? Bytes(3000) : Counting(3000);
    std::vector<ConstBuffer> in;
    std::vector<MutableBuffer> out;
    for (size_t at = 0; at < data.size();) {
      const size_t n = std::min<size_t>(random() % 90, data.size() - at);
      in.emplace_back(data.data() + at, n);
      out.emplace_back(data.data() + at, n);
      at += n;
    }
    StoreOperation op = is_read ? Read(&data, 700, &out) : Write(data, 700, &in);
    ASSERT_FALSE(file_op_.Start(&op, &rules_));
    bool done = false;
    for (int i = 0; !done && i < 100000; ++i) {
      const FileStep step = file_op_.Next();
      ASSERT_EQ(step.call, is_read ? FileCall::kRead : FileCall::kWrite);
      if (random() % 3 == 0) {
        done = file_op_.OnResult(random() % 2 == 0 ? -EINTR : -EAGAIN);
        ASSERT_FALSE(done);
      } else {
        done = file_op_.OnResult(file.Transfer(step, 1 + random() % 800));
      }
    }
    ASSERT_TRUE(done);
    EXPECT_EQ(op.status, StoreStatus::kOk);
    EXPECT_TRUE(std::equal(data.begin(), data.end(), file.bytes.begin() + 700));
  }
}

TEST_F(FileOperationTest, ErrorsAreKept) {
  for (const auto& [error, status] :
       {std::pair{EIO, StoreStatus::kIoError}, std::pair{ENOSPC, StoreStatus::kNoSpace},
        std::pair{EDQUOT, StoreStatus::kNoSpace}, std::pair{EFBIG, StoreStatus::kNoSpace},
        std::pair{ECANCELED, StoreStatus::kCancelled}, std::pair{EBADF, StoreStatus::kIoError}}) {
    const Bytes data = Counting(1024);
    std::vector<ConstBuffer> pieces;
    StoreOperation op = Write(data, 0, &pieces);
    ASSERT_FALSE(file_op_.Start(&op, &rules_));
    file_op_.Next();
    ASSERT_FALSE(file_op_.OnResult(512));  // half of it, then the error
    EXPECT_EQ(file_op_.Next().offset_bytes, 512u);
    ASSERT_TRUE(file_op_.OnResult(-error));
    EXPECT_EQ(op.status, status);
    EXPECT_FALSE(file_op_.sync_failed());
  }
}

TEST_F(FileOperationTest, EndOfFileInsideADiskIsAnError) {
  Bytes data(1024);
  std::vector<MutableBuffer> pieces;
  StoreOperation op = Read(&data, 0, &pieces);
  ASSERT_FALSE(file_op_.Start(&op, &rules_));
  file_op_.Next();
  ASSERT_FALSE(file_op_.OnResult(512));
  file_op_.Next();
  ASSERT_TRUE(file_op_.OnResult(0));
  EXPECT_EQ(op.status, StoreStatus::kIoError);
}

TEST_F(FileOperationTest, RetriesEnd) {
  for (const int32_t result : {-EAGAIN, -EINTR, 0}) {
    const Bytes data = Counting(512);
    std::vector<ConstBuffer> pieces;
    StoreOperation op = Write(data, 0, &pieces);
    ASSERT_FALSE(file_op_.Start(&op, &rules_));
    int calls = 1;
    for (file_op_.Next(); !file_op_.OnResult(result); file_op_.Next()) ASSERT_LT(++calls, 1000);
    EXPECT_EQ(op.status, StoreStatus::kIoError);
  }
}

TEST_F(FileOperationTest, FlushIsASyncAndItsFailureIsRemembered) {
  StoreOperation op;
  op.verb = StoreVerb::kFlush;
  ASSERT_FALSE(file_op_.Start(&op, &rules_));
  EXPECT_EQ(file_op_.Next().call, FileCall::kSync);
  ASSERT_FALSE(file_op_.OnResult(-EINTR));
  EXPECT_EQ(file_op_.Next().call, FileCall::kSync);
  ASSERT_TRUE(file_op_.OnResult(0));
  EXPECT_EQ(op.status, StoreStatus::kOk);
  ASSERT_FALSE(file_op_.Start(&op, &rules_));
  file_op_.Next();
  ASSERT_TRUE(file_op_.OnResult(-EIO));
  EXPECT_EQ(op.status, StoreStatus::kIoError);
  EXPECT_TRUE(file_op_.sync_failed());
}

TEST_F(FileOperationTest, DurableWritesSayItInEveryCall) {
  const Bytes data = Counting(1024);
  std::vector<ConstBuffer> pieces;
  StoreOperation op = Write(data, 0, &pieces);
  op.durable = true;
  ASSERT_FALSE(file_op_.Start(&op, &rules_));
  EXPECT_TRUE(file_op_.Next().durable);
  ASSERT_FALSE(file_op_.OnResult(512));
  EXPECT_TRUE(file_op_.Next().durable);
  ASSERT_TRUE(file_op_.OnResult(512));
  EXPECT_EQ(op.status, StoreStatus::kOk);
}

TEST_F(FileOperationTest, EveryRangeIsPunchedAndThenSynced) {
  const std::array<StoreRange, 4> ranges = {
      {{0, 512, false}, {4096, 0, false}, {8192, 4096, false}}};
  StoreOperation op = Ranges(StoreVerb::kDiscard, ranges);
  op.durable = true;
  ASSERT_FALSE(file_op_.Start(&op, &rules_));
  FileStep step = file_op_.Next();
  EXPECT_EQ(step.mode, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE);
  EXPECT_EQ(step.length_bytes, 512u);
  ASSERT_FALSE(file_op_.OnResult(0));
  step = file_op_.Next();
  EXPECT_EQ(step.offset_bytes, 8192u);
  ASSERT_FALSE(file_op_.OnResult(0));
  EXPECT_EQ(file_op_.Next().call, FileCall::kSync);
  ASSERT_TRUE(file_op_.OnResult(0));
  EXPECT_EQ(op.status, StoreStatus::kOk);
}

TEST_F(FileOperationTest, ZeroesFallBackToZeroRangeAndThenToWriting) {
  const std::array<StoreRange, 2> ranges = {{{512, 3u << 20, true}, {8u << 20, 512, true}}};
  StoreOperation op = Ranges(StoreVerb::kWriteZeroes, ranges);
  ASSERT_FALSE(file_op_.Start(&op, &rules_));
  EXPECT_EQ(file_op_.Next().mode, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE);
  ASSERT_FALSE(file_op_.OnResult(-EOPNOTSUPP));
  EXPECT_EQ(file_op_.Next().mode, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE);
  ASSERT_FALSE(file_op_.OnResult(-EOPNOTSUPP));
  FakeFile file(9u << 20);
  std::fill(file.bytes.begin(), file.bytes.end(), std::byte{0xff});
  bool done = false;
  while (!done) {
    const FileStep step = file_op_.Next();
    ASSERT_EQ(step.call, FileCall::kWrite);  // nothing that failed before is tried again
    done = file_op_.OnResult(file.Transfer(step, 700'000));
  }
  EXPECT_EQ(op.status, StoreStatus::kOk);
  for (size_t i = 0; i < file.bytes.size(); ++i) {
    const bool zero =
        (i >= 512 && i < 512 + (3u << 20)) || (i >= (8u << 20) && i < (8u << 20) + 512);
    ASSERT_EQ(file.bytes[i], zero ? std::byte{0} : std::byte{0xff}) << i;
  }
}

TEST_F(FileOperationTest, ZeroesThatMustNotUnmapAreNotPunched) {
  const std::array<StoreRange, 1> ranges = {{{0, 4096, false}}};
  StoreOperation op = Ranges(StoreVerb::kWriteZeroes, ranges);
  ASSERT_FALSE(file_op_.Start(&op, &rules_));
  EXPECT_EQ(file_op_.Next().mode, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE);
  ASSERT_TRUE(file_op_.OnResult(-ENOSPC));
  EXPECT_EQ(op.status, StoreStatus::kNoSpace);
}

TEST_F(FileOperationTest, DiscardThatTheFileSystemLacksIsIgnored) {
  const std::array<StoreRange, 2> ranges = {{{0, 4096, false}, {4096, 4096, false}}};
  StoreOperation op = Ranges(StoreVerb::kDiscard, ranges);
  ASSERT_FALSE(file_op_.Start(&op, &rules_));
  file_op_.Next();
  ASSERT_TRUE(file_op_.OnResult(-EOPNOTSUPP));
  EXPECT_EQ(op.status, StoreStatus::kOk);
  EXPECT_TRUE(file_op_.Start(&op, &rules_));
}

TEST_F(FileOperationTest, UnalignedMemoryGoesThroughABounceBuffer) {
  rules_.direct = true;
  rules_.alignment = {.memory_bytes = 512, .offset_bytes = 512};
  const std::unique_ptr<std::byte, decltype(&std::free)> bounce(
      static_cast<std::byte*>(std::aligned_alloc(4096, kBounceBytes)), &std::free);
  for (const bool is_read : {true, false}) {
    const size_t size = kBounceBytes * 2 + 1024;
    FakeFile file(size + 4096);
    if (is_read) file.bytes = Counting(file.bytes.size());
    Bytes memory(size + 1);
    if (!is_read) memory = Counting(size + 1);
    std::vector<ConstBuffer> in = {ConstBuffer(memory.data() + 1, size)};
    std::vector<MutableBuffer> out = {MutableBuffer(memory.data() + 1, 100),
                                      MutableBuffer(memory.data() + 101, size - 100)};
    StoreOperation op = is_read ? Read(&memory, 512, &out) : Write(memory, 512, &in);
    op.length_bytes = size;
    ASSERT_FALSE(file_op_.Start(&op, &rules_));
    ASSERT_TRUE(file_op_.needs_bounce());
    file_op_.SetBounce(MutableBuffer(bounce.get(), kBounceBytes));
    ASSERT_FALSE(file_op_.needs_bounce());
    bool done = false;
    while (!done) {
      const FileStep step = file_op_.Next();
      ASSERT_EQ(step.offset_bytes % 512, 0u);
      ASSERT_EQ(step.pieces[0].iov_base, bounce.get());
      done = file_op_.OnResult(file.Transfer(step, 100'000));  // not a multiple of 512
    }
    EXPECT_EQ(op.status, StoreStatus::kOk);
    EXPECT_EQ(file_op_.TakeBounce().size_bytes, kBounceBytes);
    EXPECT_TRUE(std::equal(memory.begin() + 1, memory.end(), file.bytes.begin() + 512));
  }
}

TEST_F(FileOperationTest, AlignedMemoryDoesNotBounce) {
  rules_.direct = true;
  rules_.alignment = {.memory_bytes = 4, .offset_bytes = 512};
  alignas(512) std::array<std::byte, 1024> memory;
  std::vector<ConstBuffer> in = {ConstBuffer(memory.data() + 4, 512),
                                 ConstBuffer(memory.data(), 512)};
  StoreOperation op = Write(Bytes(1024), 0, &in);
  ASSERT_FALSE(file_op_.Start(&op, &rules_));
  EXPECT_FALSE(file_op_.needs_bounce());
  in = {ConstBuffer(memory.data() + 4, 500), ConstBuffer(memory.data() + 504, 12)};
  op = Write(Bytes(512), 0, &in);
  ASSERT_FALSE(file_op_.Start(&op, &rules_));
  EXPECT_TRUE(file_op_.needs_bounce());
}

TEST_F(FileOperationTest, EmptyOperationsFinishAtOnce) {
  Bytes none;
  std::vector<MutableBuffer> out = {MutableBuffer()};
  StoreOperation read = Read(&none, 0, &out);
  EXPECT_TRUE(file_op_.Start(&read, &rules_));
  EXPECT_EQ(read.status, StoreStatus::kOk);
  const std::array<StoreRange, 1> ranges = {{{0, 0, false}}};
  StoreOperation discard = Ranges(StoreVerb::kDiscard, ranges);
  EXPECT_TRUE(file_op_.Start(&discard, &rules_));
  EXPECT_EQ(discard.status, StoreStatus::kOk);
}

}  // namespace
}  // namespace vof
