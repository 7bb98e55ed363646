// SPDX-License-Identifier: Apache-2.0
#include "core/transport/region_map.h"

#include <array>
#include <cstddef>
#include <memory>
#include <utility>

#include "gtest/gtest.h"

namespace vof {
namespace {

class RegionMapTest : public ::testing::Test {
 protected:
  // Bytes [from, to) of memory_, with a key of that name; `live_` counts registrations.
  Region Of(size_t from, size_t to, uint32_t key = 0, uint64_t remote_address = 0) {
    ++live_;
    std::shared_ptr<void> registration(nullptr, [this](void*) { --live_; });
    return {MutableBuffer(memory_.data() + from, to - from),
            Region::Keys{.local_key = memory_.data() + from,
                         .remote_key = key,
                         .remote_address = remote_address},
            std::move(registration)};
  }
  const Region* Find(size_t from, size_t size_bytes) const {
    return map_.Find(memory_.data() + from, size_bytes);
  }

  std::array<std::byte, 1000> memory_{};
  int live_ = 0;
  RegionMap map_;
};

TEST_F(RegionMapTest, FindsWhatCoversAPieceWhole) {
  ASSERT_TRUE(map_.Add(Of(400, 500, 2)));
  ASSERT_TRUE(map_.Add(Of(100, 200, 1)));
  ASSERT_TRUE(map_.Add(Of(200, 300, 3)));
  EXPECT_EQ(Find(100, 100)->remote_key(), 1u);
  EXPECT_EQ(Find(199, 1)->remote_key(), 1u);
  EXPECT_EQ(Find(200, 1)->remote_key(), 3u);
  EXPECT_EQ(Find(450, 50)->remote_key(), 2u);
  EXPECT_EQ(Find(99, 1), nullptr);
  EXPECT_EQ(Find(199, 2), nullptr) << "a piece across two regions has no single key";
  EXPECT_EQ(Find(300, 1), nullptr);
  EXPECT_EQ(Find(450, 51), nullptr);
  EXPECT_EQ(Find(450, SIZE_MAX), nullptr);
}

TEST_F(RegionMapTest, RefusesOverlaps) {
  ASSERT_TRUE(map_.Add(Of(100, 200)));
  EXPECT_FALSE(map_.Add(Of(150, 160)));
  EXPECT_FALSE(map_.Add(Of(50, 101)));
  EXPECT_FALSE(map_.Add(Of(199, 300)));
  EXPECT_FALSE(map_.Add(Of(50, 300)));
  EXPECT_FALSE(map_.Add(Of(300, 300)));
  EXPECT_TRUE(map_.Add(Of(50, 100)));
  EXPECT_EQ(live_, 2) << "a refused region ends its registration";
}

TEST_F(RegionMapTest, RemovalEndsTheRegistrationAndTheLastHit) {
  ASSERT_TRUE(map_.Add(Of(100, 200)));
  ASSERT_NE(Find(100, 10), nullptr);
  EXPECT_EQ(map_.Take(memory_.data() + 150).bytes().size_bytes, 0u);
  Region taken = map_.Take(memory_.data() + 100);
  EXPECT_EQ(Find(100, 10), nullptr);
  EXPECT_EQ(map_.size(), 0u);
  EXPECT_EQ(live_, 1) << "the keys end with what was taken";
  EXPECT_TRUE(taken.Covers(memory_.data() + 100, 100));
  taken = Region();
  EXPECT_EQ(live_, 0);
}

TEST_F(RegionMapTest, ExtendsAnother) {
  ASSERT_TRUE(map_.Add(Of(100, 200, 1)));
  RegionMap own(&map_);
  ASSERT_TRUE(own.Add(Of(200, 300, 2)));
  ASSERT_TRUE(own.Add(Of(150, 160, 3))) << "only regions of one map may not overlap";
  const auto key_at = [&](size_t from, size_t size_bytes) -> uint32_t {
    const Region* region = own.Find(memory_.data() + from, size_bytes);
    return region != nullptr ? region->remote_key() : 0;
  };
  EXPECT_EQ(key_at(250, 50), 2u);
  EXPECT_EQ(key_at(110, 10), 1u);
  EXPECT_EQ(key_at(152, 5), 3u) << "its own go first";
  EXPECT_EQ(key_at(152, 20), 1u) << "but cover whole pieces or nothing";
  EXPECT_EQ(key_at(190, 20), 0u);
  EXPECT_EQ(own.Take(memory_.data() + 100).bytes().size_bytes, 0u) << "that one is the base's";
  own.Clear();
  EXPECT_EQ(key_at(250, 50), 0u);
  EXPECT_EQ(key_at(110, 10), 1u);
  EXPECT_EQ(live_, 1);
}

TEST_F(RegionMapTest, RemoteAddressesCountAsTheFabricDoes) {
  ASSERT_TRUE(map_.Add(Of(100, 200, 7, 0)));
  EXPECT_EQ(Find(130, 1)->RemoteAddress(memory_.data() + 130), 30u);
  ASSERT_TRUE(map_.Add(Of(200, 300, 8, 0x7000)));
  EXPECT_EQ(Find(230, 1)->RemoteAddress(memory_.data() + 230), 0x7000u + 30);
}

}  // namespace
}  // namespace vof
