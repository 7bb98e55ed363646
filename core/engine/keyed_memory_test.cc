// SPDX-License-Identifier: Apache-2.0
//
// Which memory an initiator shows to a target, and for how long: regions of the session that cover
// some pieces of a request and not others, that come and go while requests are in flight, and
// regions of single requests.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/engine/testing/keyed_session_fixture.h"
#include "core/engine/testing/random_io.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

// Registers what it is asked to, under the key that the wire takes.
class TestDomain final : public Domain {
 public:
  absl::StatusOr<Region> Register(MutableBuffer bytes, Access access) override {
    if (fails) return absl::ResourceExhaustedError("no");
    registered.push_back(access);
    largest_bytes = std::max(largest_bytes, bytes.size_bytes);
    return RegionOf(bytes);
  }
  // `alive` counts it.
  Region RegionOf(MutableBuffer bytes) {
    ++alive;
    return Region(bytes,
                  {.local_key = this,
                   .remote_key = TestMemory::kKey,
                   .remote_address = reinterpret_cast<uintptr_t>(bytes.data)},
                  std::shared_ptr<void>(nullptr, [this](void*) { --alive; }));
  }

  bool fails = false;
  int alive = 0;
  size_t largest_bytes = 0;
  std::vector<Access> registered;
};

MutableBuffer BytesOf(std::string& text) {
  return {reinterpret_cast<std::byte*>(text.data()), text.size()};
}

template <typename C>
class KeyedMemoryTest : public KeyedSessionFixture<C> {
 protected:
  using Ios = std::vector<std::unique_ptr<RandomIo>>;

  void StartUnregistered() {
    KeyedSessionOptions pair;
    pair.registered = false;
    pair.max_pieces = 6;
    StartWith(pair);
  }
  void StartWith(const KeyedSessionOptions& pair) {
    this->Start(pair);
    this->lanes_[1].wire->on_remote_access = [this](const RemoteBuffer& remote) {
      accesses_.push_back(remote);
    };
  }
  // As before Start.
  void Restart() {
    this->TearDown();
    this->lanes_.clear();
    this->queues_.clear();
    this->control_.reset();
    this->target_memory_.regions.Clear();
    regions().Clear();
    this->connected_ = 0;
    this->ready_ = false;
  }
  RegionMap& regions() { return this->initiator_memory_.regions; }
  // Whether the target reached the bytes where they lie.
  bool Reached(MutableBuffer bytes) const {
    const auto begin = reinterpret_cast<uintptr_t>(bytes.data);
    return std::any_of(accesses_.begin(), accesses_.end(), [&](const RemoteBuffer& remote) {
      return remote.address < begin + bytes.size_bytes &&
             begin < remote.address + remote.size_bytes;
    });
  }
  std::unique_ptr<RandomIo> NewIo(uint32_t bytes) {
    auto io = std::make_unique<RandomIo>(random_, 64, 1);
    io->out.assign(bytes, 'o');
    io->in.assign(bytes, 'i');
    io->readable = {ConstBuffer(io->out.data(), bytes)};
    io->writable = {BytesOf(io->in)};
    io->request.readable = io->readable;
    io->request.writable = io->writable;
    return io;
  }
  void Submit(RandomIo& io) {
    this->queues_[0]->Submit(&io.request);
    this->Settle();
  }
  void Hold(bool hold) {
    this->target_->device->queue(0)->hold = hold;
    this->Settle();
  }
  static void ExpectAnswer(const RandomIo& io) {
    ASSERT_EQ(io.done, 1);
    EXPECT_EQ(io.request.error, RequestError::kNone);
    EXPECT_EQ(io.in, FakeAnswer(static_cast<uint8_t>(io.out[0]), io.in.size()));
  }

  TestDomain domain_;
  std::mt19937_64 random_{11};
  std::vector<RemoteBuffer> accesses_;  // of the target, through virtqueue 0
};

using Codecs = testing::Types<V5, Ref>;
TYPED_TEST_SUITE(KeyedMemoryTest, Codecs);

TYPED_TEST(KeyedMemoryTest, WhatIsNotRegisteredGoesThroughThePool) {
  this->StartUnregistered();
  auto io = this->NewIo(20'000);
  this->Submit(*io);
  this->ExpectAnswer(*io);
  EXPECT_FALSE(this->Reached(BytesOf(io->out)));
  EXPECT_FALSE(this->Reached(BytesOf(io->in)));
  EXPECT_TRUE(this->Reached(this->pool_.slab()));
  this->Work(300, 21, 60'000);
}

TYPED_TEST(KeyedMemoryTest, WhatIsRegisteredIsReachedWhereItLies) {
  this->StartUnregistered();
  auto io = this->NewIo(20'001);
  for (std::string* part : {&io->out, &io->in}) {
    ASSERT_TRUE(this->regions().Add(this->domain_.RegionOf(BytesOf(*part))));
  }
  const size_t in_use = this->pool_.in_use_bytes();
  this->Hold(true);
  this->Submit(*io);
  EXPECT_EQ(this->pool_.in_use_bytes(), in_use) << "nothing is copied";
  this->Hold(false);
  this->ExpectAnswer(*io);
  EXPECT_TRUE(this->Reached(BytesOf(io->out)));
  EXPECT_TRUE(this->Reached(BytesOf(io->in)));
  EXPECT_FALSE(this->Reached(this->pool_.slab()));
}

// Ranges with odd borders, in the middle of requests: pieces are inside, outside, and across.
TYPED_TEST(KeyedMemoryTest, RegionsThatCoverSomePiecesOnly) {
  for (const uint32_t max_pieces : {6u, 70u, 200u}) {
    KeyedSessionOptions pair;
    pair.registered = false;
    pair.max_pieces = max_pieces;
    this->StartWith(pair);
    typename TestFixture::Ios ios;
    for (int i = 0; i < 200; ++i) {
      ios.push_back(std::make_unique<RandomIo>(this->random_, 60'000, max_pieces));
      for (std::string* part : {&ios.back()->out, &ios.back()->in}) {
        const size_t from = this->random_() % part->size();
        const size_t bytes = this->random_() % (part->size() - from) + 1;
        ASSERT_TRUE(
            this->regions().Add(this->domain_.RegionOf({BytesOf(*part).data + from, bytes})));
      }
      this->queues_[this->random_() % 2]->Submit(&ios.back()->request);
      if (i % 8 == 0) this->Settle();
    }
    this->Settle();
    CheckAnswers(ios, this->pair_.device.max_answer_bytes);
    this->Restart();
  }
}

TYPED_TEST(KeyedMemoryTest, ARegionThatComesWhileARequestIsInFlight) {
  KeyedSessionOptions pair;
  pair.registered = false;
  pair.device.completes_inline = false;
  this->StartWith(pair);
  this->Hold(true);
  auto io = this->NewIo(20'000);
  this->Submit(*io);
  ASSERT_TRUE(this->regions().Add(this->domain_.RegionOf(BytesOf(io->in))));
  this->Hold(false);
  this->ExpectAnswer(*io);
  EXPECT_FALSE(this->Reached(BytesOf(io->in))) << "it was sent before";
}

TYPED_TEST(KeyedMemoryTest, ARegionThatGoesStaysForTheRequestsThatShowIt) {
  KeyedSessionOptions pair;
  pair.registered = false;
  pair.device.completes_inline = false;
  this->StartWith(pair);
  std::vector<std::byte> arena(60'000);
  auto first = this->NewIo(20'000), second = this->NewIo(20'000), other = this->NewIo(20'000);
  first->writable[0].data = arena.data() + 1;
  second->writable[0].data = arena.data() + 30'001;
  ASSERT_TRUE(this->regions().Add(this->domain_.RegionOf({arena.data(), arena.size()})));
  this->Hold(true);
  this->Submit(*other);
  this->Submit(*first);
  Region taken = this->regions().Take(arena.data());
  this->engines_[0]->EndRegion(std::move(taken));
  EXPECT_EQ(this->domain_.alive, 1);
  this->Submit(*second);
  auto* device = this->target_->device->queue(0);
  device->CompleteNext();
  this->Settle();
  EXPECT_EQ(other->done, 1);
  EXPECT_EQ(this->domain_.alive, 1) << "only those that lie in it keep it";
  // It ends before `done` is called.
  static int alive_in_done;
  static TestDomain* domain;
  alive_in_done = -1;
  domain = &this->domain_;
  first->request.done = [](InitiatorRequest* r) {
    alive_in_done = domain->alive;
    ++static_cast<RandomIo*>(r->context)->done;
  };
  device->CompleteNext();
  this->Settle();
  EXPECT_EQ(first->done, 1);
  EXPECT_EQ(alive_in_done, 0) << "nor do those that were sent later";
  EXPECT_TRUE(this->Reached({arena.data() + 1, 20'000}));
  this->Hold(false);
  EXPECT_EQ(second->done, 1);
  EXPECT_FALSE(this->Reached({arena.data() + 30'001, 20'000}));
  for (const size_t at : {size_t{1}, size_t{30'001}}) {
    const auto* bytes = reinterpret_cast<const char*>(arena.data() + at);
    EXPECT_EQ(std::string(bytes, 20'000), FakeAnswer('o', 20'000));
  }
}

TYPED_TEST(KeyedMemoryTest, ALostChannelEndsWhatItsRequestsKept) {
  KeyedSessionOptions pair;
  pair.registered = false;
  pair.device.completes_inline = false;
  pair.domain = &this->domain_;
  pair.registration.from_bytes = 10'000;
  this->StartWith(pair);
  this->Hold(true);
  auto kept = this->NewIo(5'000), own = this->NewIo(20'000);
  ASSERT_TRUE(this->regions().Add(this->domain_.RegionOf(BytesOf(kept->in))));
  this->Submit(*kept);
  this->Submit(*own);
  this->engines_[0]->EndRegion(this->regions().Take(BytesOf(kept->in).data));
  EXPECT_EQ(this->domain_.alive, 3);
  this->lanes_[1].wire->Cut(this->Now());
  EXPECT_EQ(this->domain_.alive, 0);
  EXPECT_EQ(kept->done, 1);
  EXPECT_EQ(own->done, 1);
  EXPECT_EQ(own->request.error, RequestError::kClosed);
}

TYPED_TEST(KeyedMemoryTest, LargePiecesAreRegisteredForTheirRequest) {
  KeyedSessionOptions pair;
  pair.registered = false;
  pair.domain = &this->domain_;
  pair.registration.from_bytes = 10'000;
  this->StartWith(pair);
  auto large = this->NewIo(20'000), small = this->NewIo(9'999);
  this->Submit(*small);
  EXPECT_TRUE(this->domain_.registered.empty());
  this->Submit(*large);
  this->ExpectAnswer(*large);
  this->ExpectAnswer(*small);
  EXPECT_EQ(this->domain_.registered,
            (std::vector<Access>{Access::kRemoteRead, Access::kRemoteWrite}));
  EXPECT_EQ(this->domain_.alive, 0) << "no key outlives its request";
  EXPECT_TRUE(this->Reached(BytesOf(large->out)));
  EXPECT_TRUE(this->Reached(BytesOf(large->in)));
  EXPECT_FALSE(this->Reached(BytesOf(small->in)));
  this->Work(300, 22, 60'000);
  EXPECT_EQ(this->domain_.alive, 0);
}

TYPED_TEST(KeyedMemoryTest, WhatCannotBeRegisteredForARequestIsCopied) {
  KeyedSessionOptions pair;
  pair.registered = false;
  pair.domain = &this->domain_;
  pair.registration.from_bytes = 1'000;
  this->StartWith(pair);
  this->domain_.fails = true;
  this->Work(300, 23, 60'000);
  EXPECT_TRUE(this->domain_.registered.empty());
}

TYPED_TEST(KeyedMemoryTest, NoMoreThanTheBoundIsRegisteredAtATime) {
  KeyedSessionOptions pair;
  pair.registered = false;
  pair.device.completes_inline = false;
  pair.domain = &this->domain_;
  pair.registration = {.from_bytes = 10'000, .most_bytes = 50'000};
  this->StartWith(pair);
  this->Hold(true);
  std::vector<std::unique_ptr<RandomIo>> ios;
  for (int i = 0; i < 3; ++i) {
    ios.push_back(this->NewIo(20'000));
    this->Submit(*ios.back());
  }
  EXPECT_EQ(this->domain_.alive, 2) << "two pieces of 20000 bytes fit";
  this->Hold(false);
  for (const auto& io : ios) this->ExpectAnswer(*io);
  auto late = this->NewIo(20'000);
  this->Submit(*late);
  this->ExpectAnswer(*late);
  EXPECT_EQ(this->domain_.registered.size(), 4u) << "there is room again";
}

// --- The target's side ---

// What the fake device lends: the same for all its queues.
MutableBuffer LentBy(FakeDevice& device) { return device.pattern(); }

TYPED_TEST(KeyedMemoryTest, WhatADeviceLendsIsRegisteredInAnyNumberOfRegions) {
  KeyedSessionOptions pair;
  pair.device.lends_results = true;
  int asked = 0;
  pair.lend = [&](const InstanceIdentity& identity) {
    ++asked;
    LentRegions lent;
    MutableBuffer rest = LentBy(static_cast<FakeDevice&>(*identity.device));
    for (const size_t bytes : {size_t{1'001}, size_t{30}, size_t{20'000}, rest.size_bytes}) {
      const size_t part = std::min(bytes, rest.size_bytes);
      lent.regions.push_back(std::make_shared<Region>(this->domain_.RegionOf({rest.data, part})));
      rest = {rest.data + part, rest.size_bytes - part};
    }
    lent.complete = true;
    return lent;
  };
  this->StartWith(pair);
  int in_place = 0, elsewhere = 0, small = 0;
  const Region pattern(LentBy(*this->target_->device), {}, nullptr);
  this->lanes_[1].wire->on_store_from = [&](const LocalBuffer& local) {
    const bool lent = pattern.Covers(local.data, local.size_bytes);
    ++(local.size_bytes <= kMinInlineBytes ? small : lent ? in_place : elsewhere);
  };
  this->Work(300, 31, 60'000);
  EXPECT_EQ(asked, 2) << "once for each queue";
  EXPECT_EQ(elsewhere, 0) << "nothing is copied";
  EXPECT_GT(in_place, 20);
  EXPECT_LT(small, 300) << "at most the last bytes of each, and what lies across borders";
  for (int i = 1; i < 3; ++i) this->lanes_[static_cast<size_t>(i)].wire->Cut(this->Now());
  EXPECT_EQ(this->domain_.alive, 0) << "regions end with the channel";
}

TYPED_TEST(KeyedMemoryTest, ADeviceThatGrowsIsAskedAgain) {
  for (const bool succeeds : {true, false}) {
    SCOPED_TRACE(succeeds);
    KeyedSessionOptions pair;
    pair.device.lends_results = true;
    size_t registered_bytes = 2'000;
    int asked = 0;
    pair.lend = [&](const InstanceIdentity& identity) {
      const MutableBuffer all = LentBy(static_cast<FakeDevice&>(*identity.device));
      LentRegions lent;
      const size_t bytes = ++asked > 2 && succeeds ? all.size_bytes : registered_bytes;
      lent.regions.push_back(std::make_shared<Region>(this->domain_.RegionOf({all.data, 2'000})));
      if (bytes > 2'000) {
        lent.regions.push_back(
            std::make_shared<Region>(this->domain_.RegionOf({all.data + 2'000, bytes - 2'000})));
      }
      lent.complete = asked <= 2 || succeeds;
      return lent;
    };
    this->StartWith(pair);
    this->Work(100, 32, 1'000);
    EXPECT_EQ(asked, 2);
    this->Work(300, 33, 60'000);
    EXPECT_LE(asked, 2 + 2 * 16) << "those that had been taken before, and no more";
    EXPECT_GT(asked, 2);
    const int before = asked;
    this->Work(300, 34, 60'000);
    EXPECT_EQ(asked, before) << "from now on it is registered, or copied";
    this->Restart();
  }
}

}  // namespace
}  // namespace vof
