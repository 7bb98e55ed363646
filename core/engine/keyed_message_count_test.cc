// SPDX-License-Identifier: Apache-2.0
//
// What a block request costs on a keyed queue, counted: the table of docs/performance.md.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/engine/testing/keyed_session_fixture.h"
#include "core/engine/testing/request_table.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

struct Counts {
  int64_t sends, fetches, stores;
  // The command and its answer, and before the answer the wait for what is fetched.
  int64_t round_trips() const { return fetches > 0 ? 2 : 1; }
  // Events at both ends: of sends, of receives, of remote accesses.
  int64_t completions() const { return 2 * sends + fetches + stores; }
};

// A block request: a header of 16 bytes, data, one byte of status; each piece in a place of its
// own.
struct BlockIo {
  BlockIo(const CountedShape& shape, bool write) {
    Add(16, true);
    for (const size_t size_bytes : shape.data) Add(size_bytes, write);
    Add(1, false);
    request.readable = readable;
    request.writable = writable;
    request.context = this;
    request.done = [](InitiatorRequest* r) { ++static_cast<BlockIo*>(r->context)->done; };
  }
  void Add(size_t size_bytes, bool is_readable) {
    auto& piece = memory.emplace_back(size_bytes, std::byte{7});
    if (is_readable) {
      readable.push_back(ConstBuffer(piece.data(), size_bytes));
    } else {
      writable.push_back(MutableBuffer(piece.data(), size_bytes));
    }
  }
  std::vector<std::vector<std::byte>> memory;
  std::vector<ConstBuffer> readable;
  std::vector<MutableBuffer> writable;
  InitiatorRequest request;
  int done = 0;
};

template <typename C>
class Counter : public KeyedSessionFixture<C> {
 public:
  void TestBody() override {}
  void Begin(bool with_inline) {
    KeyedSessionOptions options;
    options.device.lends_results = true;  // as a memory disk does
    if (!with_inline) options.target.transport_features &= ~transport_feature::kInline;
    this->Start(options);
  }
  void End() { this->TearDown(); }
  Counts Count(const CountedShape& shape, bool write) {
    BlockIo io(shape, write);
    const MessageWire& wire = *this->lanes_[1].wire;
    const Counts before = {wire.sends, wire.fetches, wire.stores};
    this->queues_[0]->Submit(&io.request);
    this->Settle();
    EXPECT_EQ(io.done, 1);
    EXPECT_EQ(io.request.error, RequestError::kNone);
    return {wire.sends - before.sends, wire.fetches - before.fetches, wire.stores - before.stores};
  }
};

// One line of the table for each operation and shape.
template <typename C>
std::vector<Counts> CountAll(bool with_inline) {
  std::vector<Counts> all;
  Counter<C> counter;
  counter.Begin(with_inline);
  for (const bool write : {false, true}) {
    for (const CountedShape& shape : CountedShapes()) all.push_back(counter.Count(shape, write));
  }
  counter.End();
  return all;
}

std::string Cell(const Counts& c) {
  return absl::StrCat(c.sends, " / ", c.fetches, " / ", c.stores, " / ", c.round_trips(), " / ",
                      c.completions());
}

TEST(KeyedMessageCountTest, TheTableOfTheDocumentsIsTrue) {
  ExpectTableOfDocuments<Counts>({CountAll<Ref>(false), CountAll<V5>(false), CountAll<V5>(true)},
                                 Cell);
}

TEST(KeyedMessageCountTest, InlineDataSavesMessagesAndRoundTrips) {
  const std::vector<Counts> counts = CountAll<V5>(true);
  const size_t num_shapes = CountedShapes().size();
  for (size_t i = 0; i < counts.size(); ++i) {
    const bool write = i >= num_shapes;
    const bool small = i % num_shapes < 2;
    EXPECT_EQ(counts[i].sends, 2) << i;
    EXPECT_EQ(counts[i].fetches + counts[i].stores == 0, small) << i;
    EXPECT_EQ(counts[i].round_trips(), write && !small ? 2 : 1) << i;
  }
}

}  // namespace
}  // namespace vof
