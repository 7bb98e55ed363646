// SPDX-License-Identifier: Apache-2.0
#include "core/memory/pool_reservation.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace vof {
namespace {

constexpr uint32_t kLarge = 8u << 20;  // two of them are the pool

class PoolReservationTest : public testing::Test {
 protected:
  BufferPool pool_{kMinPoolBytes};
  int woken_[2] = {};
  PoolReservation first_{&pool_, [this] { ++woken_[0]; }};
  PoolReservation second_{&pool_, [this] { ++woken_[1]; }};
};

TEST_F(PoolReservationTest, GivesWhatWasAskedFor) {
  ASSERT_TRUE(first_.Reserve({4096, 0, 17}));
  const PoolBuffer one = first_.Take(0), none = first_.Take(1), two = first_.Take(2);
  EXPECT_GE(one.capacity_bytes(), 4096u);
  EXPECT_FALSE(none);
  EXPECT_GE(two.capacity_bytes(), 17u);
  ASSERT_TRUE(first_.Reserve({4096, 0, 17})) << "again, while the others are in use";
}

TEST_F(PoolReservationTest, TwoWhoWantTwoBuffersBothGetThem) {
  std::vector<PoolBuffer> others;
  for (int i = 0; i < 2; ++i) others.push_back(pool_.Allocate(kLarge));
  EXPECT_FALSE(first_.Reserve({kLarge, 512, 0}));
  EXPECT_FALSE(second_.Reserve({kLarge, 512, 0}));
  others[0].Release();
  EXPECT_GE(woken_[0], 1);
  EXPECT_FALSE(first_.Reserve({kLarge, 512, 0})) << "it has one of them";
  EXPECT_FALSE(second_.Reserve({kLarge, 512, 0})) << "behind the first";
  others[1].Release();
  ASSERT_TRUE(first_.Reserve({kLarge, 512, 0}));
  EXPECT_FALSE(second_.Reserve({kLarge, 512, 0}));
  PoolBuffer large = first_.Take(0), small = first_.Take(1);
  large.Release();
  EXPECT_GE(woken_[1], 1);
  ASSERT_TRUE(second_.Reserve({kLarge, 512, 0}));
}

TEST_F(PoolReservationTest, WhoNeedsNothingAnyMoreLetsOthersPass) {
  PoolBuffer all[2] = {pool_.Allocate(kLarge), pool_.Allocate(kLarge)};
  EXPECT_FALSE(first_.Reserve({512, 512, 512}));
  EXPECT_FALSE(second_.Reserve({512, 0, 0}));
  all[0].Release();
  EXPECT_FALSE(second_.Reserve({512, 0, 0}));
  first_.Cancel();
  EXPECT_EQ(woken_[1], 1);
  EXPECT_TRUE(second_.Reserve({512, 0, 0}));
  all[1].Release();
}

TEST_F(PoolReservationTest, OtherSizesBeginAnew) {
  PoolBuffer all[2] = {pool_.Allocate(kLarge), pool_.Allocate(kLarge)};
  EXPECT_FALSE(first_.Reserve({kLarge, kLarge, 0}));
  all[0].Release();
  EXPECT_FALSE(first_.Reserve({kLarge, kLarge, 0})) << "holds half of the pool";
  EXPECT_TRUE(first_.Reserve({512, 0, 0}));
  EXPECT_FALSE(pool_.has_waiters());
}

}  // namespace
}  // namespace vof
