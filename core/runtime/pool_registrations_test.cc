// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/pool_registrations.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Counts what is registered, and fails when it is told to.
class CountingDomain final : public Domain {
 public:
  absl::StatusOr<Region> Register(MutableBuffer bytes, Access access) override {
    if (fails) return absl::ResourceExhaustedError("RLIMIT_MEMLOCK is 65536");
    made.push_back(access);
    ++*alive;
    std::shared_ptr<void> registration(nullptr, [alive = alive](void*) { --*alive; });
    return Region(bytes, {.local_key = this, .remote_key = 7}, std::move(registration));
  }

  bool fails = false;
  std::vector<Access> made;
  std::shared_ptr<int> alive = std::make_shared<int>(0);
};

TEST(PoolRegistrationsTest, APoolIsRegisteredOnceForEachDomainAndUse) {
  BufferPool pool(kMinPoolBytes);
  PoolRegistrations registrations(&pool);
  const auto first = std::make_shared<CountingDomain>();
  const auto second = std::make_shared<CountingDomain>();
  const auto local = registrations.For(first, Access::kLocal);
  ASSERT_TRUE(local.ok()) << local.status();
  EXPECT_EQ(*registrations.For(first, Access::kLocal), *local);
  EXPECT_NE(*registrations.For(first, Access::kRemoteReadWrite), *local);
  EXPECT_NE(*registrations.For(second, Access::kLocal), *local);
  EXPECT_THAT(first->made, testing::ElementsAre(Access::kLocal, Access::kRemoteReadWrite));
  EXPECT_THAT(second->made, testing::ElementsAre(Access::kLocal));
  const PoolBuffer buffer = pool.Allocate(100'000);
  ASSERT_TRUE(buffer);
  EXPECT_NE((*local)->Find(buffer.data(), 100'000), nullptr) << "every buffer is covered";
}

TEST(PoolRegistrationsTest, AFailureSaysWhatAndIsTriedAgain) {
  BufferPool pool(kMinPoolBytes);
  PoolRegistrations registrations(&pool);
  const auto domain = std::make_shared<CountingDomain>();
  domain->fails = true;
  const auto failed = registrations.For(domain, Access::kLocal);
  EXPECT_EQ(failed.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(failed.status().message()),
              AllOf(HasSubstr("payload pool"), HasSubstr("16777216 bytes"),
                    HasSubstr("RLIMIT_MEMLOCK is 65536")));
  domain->fails = false;
  EXPECT_TRUE(registrations.For(domain, Access::kLocal).ok());
}

TEST(PoolRegistrationsTest, TheDomainOutlivesItsRegions) {
  BufferPool pool(kMinPoolBytes);
  auto domain = std::make_shared<CountingDomain>();
  const std::weak_ptr<CountingDomain> watched = domain;
  const std::shared_ptr<int> alive = domain->alive;
  {
    PoolRegistrations registrations(&pool);
    ASSERT_TRUE(registrations.For(domain, Access::kLocal).ok());
    domain.reset();
    EXPECT_FALSE(watched.expired());
    EXPECT_EQ(*alive, 1);
  }
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(*alive, 0);
}

}  // namespace
}  // namespace vof
