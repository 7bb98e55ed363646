// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/lent_registrations.h"

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
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CountingDomain final : public Domain {
 public:
  absl::StatusOr<Region> Register(MutableBuffer bytes, Access access) override {
    if (fails) return absl::ResourceExhaustedError("RLIMIT_MEMLOCK is 65536");
    EXPECT_EQ(access, Access::kLocal) << "no peer reaches a device's memory";
    made.push_back(bytes.size_bytes);
    ++*alive;
    std::shared_ptr<void> registration(nullptr, [alive = alive](void*) { --*alive; });
    return Region(bytes, {.local_key = this}, std::move(registration));
  }

  bool fails = false;
  std::vector<size_t> made;
  std::shared_ptr<int> alive = std::make_shared<int>(0);
};

// Lends the first `lent_bytes` of its memory, and keeps nothing but that.
class Lender final : public Device {
 public:
  ~Lender() override { EXPECT_TRUE(kept.expired()) << "regions end before the device"; }
  DeviceIdentity identity() const override { return {}; }
  uint64_t features() const override { return 0; }
  uint16_t num_queues() const override { return 1; }
  uint16_t max_queue_size() const override { return 1; }
  absl::StatusOr<std::unique_ptr<DeviceQueue>> OpenQueue(uint16_t) override {
    return absl::UnimplementedError("none");
  }
  LentMemory LendMemory() override {
    if (lent_bytes == 0) return {};
    std::shared_ptr<int> keep = kept.lock();
    if (keep == nullptr) kept = keep = std::make_shared<int>(0);
    return {.ranges = {MutableBuffer(memory.data(), lent_bytes)}, .keep = {std::move(keep)}};
  }

  std::vector<std::byte> memory = std::vector<std::byte>(10'000);
  size_t lent_bytes = 4'000;
  std::weak_ptr<int> kept;
};

class LentRegistrationsTest : public testing::Test {
 protected:
  std::shared_ptr<CountingDomain> domain_ = std::make_shared<CountingDomain>();
  std::shared_ptr<Lender> lender_ = std::make_shared<Lender>();
  LentRegistrations lent_{/*most_bytes=*/8'000};
};

TEST_F(LentRegistrationsTest, OnceForEachDeviceAndDomain) {
  const std::shared_ptr<Device> served = lent_.Serve(lender_);
  EXPECT_EQ(served, lender_);
  const auto first = lent_.For(domain_, served);
  EXPECT_TRUE(first.failure.ok()) << first.failure;
  EXPECT_TRUE(first.regions.complete);
  ASSERT_EQ(first.regions.regions.size(), 1u);
  EXPECT_TRUE(first.regions.regions[0]->Covers(lender_->memory.data(), 4'000));
  const auto again = lent_.For(domain_, lent_.Serve(lender_));
  EXPECT_EQ(again.regions.regions, first.regions.regions);
  const auto other = std::make_shared<CountingDomain>();
  EXPECT_TRUE(lent_.For(other, served).regions.complete);
  EXPECT_THAT(domain_->made, ElementsAre(4'000));
  EXPECT_THAT(other->made, ElementsAre(4'000));
}

TEST_F(LentRegistrationsTest, EndsWithTheLastWhoServesTheDevice) {
  std::shared_ptr<Device> directory = lent_.Serve(lender_);
  std::shared_ptr<Device> session = directory;
  lent_.For(domain_, session);
  directory.reset();
  EXPECT_EQ(*domain_->alive, 1);
  session.reset();
  EXPECT_EQ(*domain_->alive, 0) << "though the device lives on";
  EXPECT_TRUE(lender_->kept.expired());
  EXPECT_FALSE(lent_.For(domain_, lender_).regions.complete) << "it is not served any more";
  std::shared_ptr<Device> anew = lent_.Serve(lender_);
  EXPECT_TRUE(lent_.For(domain_, anew).regions.complete) << "nothing is left of the limit's use";
}

TEST_F(LentRegistrationsTest, AQueueKeepsItsRegions) {
  std::shared_ptr<Device> served = lent_.Serve(lender_);
  auto outcome = lent_.For(domain_, served);
  served.reset();
  EXPECT_EQ(*domain_->alive, 1);
  EXPECT_FALSE(lender_->kept.expired()) << "pages stay as long as the region";
  outcome = {};
  EXPECT_EQ(*domain_->alive, 0);
  EXPECT_TRUE(lender_->kept.expired());
}

TEST_F(LentRegistrationsTest, ADeviceThatHasGrownGetsARegionMore) {
  const std::shared_ptr<Device> served = lent_.Serve(lender_);
  lent_.For(domain_, served);
  lender_->lent_bytes = 6'001;
  const auto grown = lent_.For(domain_, served);
  EXPECT_TRUE(grown.regions.complete);
  EXPECT_EQ(grown.regions.regions.size(), 2u);
  EXPECT_THAT(domain_->made, ElementsAre(4'000, 2'001));
  lender_->lent_bytes = 1'000;
  EXPECT_TRUE(lent_.For(domain_, served).regions.complete);
  lender_->lent_bytes = 6'001;
  EXPECT_TRUE(lent_.For(domain_, served).regions.complete);
  EXPECT_THAT(domain_->made, ElementsAre(4'000, 2'001)) << "what is there serves again";
}

TEST_F(LentRegistrationsTest, BeyondTheLimitItIsNotRegistered) {
  const std::shared_ptr<Device> served = lent_.Serve(lender_);
  lent_.For(domain_, served);
  lender_->lent_bytes = 8'001;
  auto outcome = lent_.For(domain_, served);
  EXPECT_FALSE(outcome.regions.complete);
  EXPECT_EQ(outcome.regions.regions.size(), 1u) << "what is registered stays of use";
  EXPECT_THAT(std::string(outcome.failure.message()),
              AllOf(HasSubstr("4001 bytes are needed"), HasSubstr("8000"), HasSubstr("4000")));
  outcome = lent_.For(domain_, served);
  EXPECT_FALSE(outcome.regions.complete);
  EXPECT_TRUE(outcome.failure.ok()) << "told once";
}

TEST_F(LentRegistrationsTest, WhatTheFabricRefusesIsToldOnceAndTriedAgain) {
  const std::shared_ptr<Device> served = lent_.Serve(lender_);
  domain_->fails = true;
  EXPECT_THAT(std::string(lent_.For(domain_, served).failure.message()),
              HasSubstr("RLIMIT_MEMLOCK is 65536"));
  EXPECT_TRUE(lent_.For(domain_, served).failure.ok());
  domain_->fails = false;
  EXPECT_TRUE(lent_.For(domain_, served).regions.complete);
}

TEST_F(LentRegistrationsTest, ADeviceThatLendsNothingIsNoFailure) {
  lender_->lent_bytes = 0;
  const std::shared_ptr<Device> served = lent_.Serve(lender_);
  const auto outcome = lent_.For(domain_, served);
  EXPECT_FALSE(outcome.regions.complete);
  EXPECT_TRUE(outcome.failure.ok());
  EXPECT_THAT(domain_->made, IsEmpty());
}

}  // namespace
}  // namespace vof
