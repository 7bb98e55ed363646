// SPDX-License-Identifier: Apache-2.0
#include "backends/verbs/verbs_domain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "backends/verbs/memory_limit.h"
#include "backends/verbs/testing/fake_verbs.h"

namespace vof {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::string_view kStatusOfUser =
    "Name:\tvof\nVmLck:\t       8 kB\nVmPin:\t      40 kB\nCapEff:\t0000000000000000\n";
constexpr std::string_view kStatusOfRoot =
    "Name:\tvof\nVmPin:\t      40 kB\nCapEff:\t000001ffffffffff\n";

TEST(MemoryLimitTest, ReadsWhatThisProcessHas) {
  rlimit limit = {};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  EXPECT_EQ(ReadMemoryLimit().limit_bytes, limit.rlim_cur);
}

TEST(MemoryLimitTest, CountsWhatIsPinnedAndSeesTheCapability) {
  const MemoryLimit user = ParseMemoryLimit(65536, kStatusOfUser);
  EXPECT_EQ(user.limit_bytes, 65536u);
  EXPECT_EQ(user.pinned_bytes, 40u * 1024);
  EXPECT_FALSE(user.bypassed);
  EXPECT_TRUE(ParseMemoryLimit(65536, kStatusOfRoot).bypassed);
  EXPECT_TRUE(ParseMemoryLimit(RLIM_INFINITY, kStatusOfUser).bypassed);
  EXPECT_FALSE(ParseMemoryLimit(65536, "").bypassed) << "no /proc";
}

TEST(MemoryLimitTest, SaysLimitValueNeedAndRemedy) {
  const std::string text = DescribeMemoryShortage(ParseMemoryLimit(65536, kStatusOfUser), 1u << 20);
  EXPECT_THAT(
      text, AllOf(HasSubstr("RLIMIT_MEMLOCK of this process is 65536 bytes"),
                  HasSubstr("1048576 bytes are needed"), HasSubstr("40960"), HasSubstr("ulimit -l"),
                  HasSubstr("LimitMEMLOCK="), HasSubstr("CAP_IPC_LOCK")));
  EXPECT_THAT(DescribeMemoryShortage(ParseMemoryLimit(65536, kStatusOfRoot), 1u << 20),
              AllOf(HasSubstr("1048576"), HasSubstr("no limit of the process")));
}

class VerbsDomainTest : public testing::Test {
 protected:
  VerbsDomainTest() {
    connection_.verbs = &context_;
    connection_.route.addr.src_addr.sa_family = AF_INET;
  }
  std::shared_ptr<VerbsDomain> Open() { return *VerbsDomain::Open(fake_, &connection_); }

  const std::shared_ptr<FakeVerbs> fake_ = std::make_shared<FakeVerbs>();
  ibv_context context_ = {};
  rdma_cm_id connection_ = {};
  std::vector<std::byte> memory_ = std::vector<std::byte>(65536);
  const MutableBuffer bytes_{memory_.data(), memory_.size()};
};

TEST_F(VerbsDomainTest, RegionsHaveKeysAndEndWithTheirOwner) {
  std::shared_ptr<VerbsDomain> domain = Open();
  absl::StatusOr<Region> region = domain->Register(bytes_, Access::kRemoteRead);
  ASSERT_TRUE(region.ok()) << region.status();
  EXPECT_NE(region->local_key(), nullptr);
  EXPECT_EQ(LocalKeyOf(region->local_key()), region->remote_key()) << "of this device";
  EXPECT_EQ(region->RemoteAddress(memory_.data() + 5),
            reinterpret_cast<uintptr_t>(memory_.data()) + 5);
  domain.reset();
  EXPECT_EQ(fake_->LiveObjects(), "1 event channels 1 ids 1 domains 1 regions ")
      << "a region keeps its domain";
  region = absl::CancelledError();
  EXPECT_EQ(fake_->LiveObjects(), "");
  EXPECT_EQ(fake_->Misuse(), "");
}

TEST_F(VerbsDomainTest, EmptyRangeIsInvalid) {
  EXPECT_TRUE(absl::IsInvalidArgument(Open()->Register({}, Access::kLocal).status()));
}

TEST_F(VerbsDomainTest, ShortMemoryNamesTheLimit) {
  const std::shared_ptr<VerbsDomain> domain = Open();
  fake_->FailCall("RegisterMemory", 0, ENOMEM);
  const absl::Status status = domain->Register(bytes_, Access::kLocal).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("cannot register 65536 bytes"), HasSubstr("65536 bytes are needed")));
}

TEST_F(VerbsDomainTest, LargestRegionOfTheDeviceIsNamed) {
  fake_->device().max_mr_size = 4096;
  const absl::Status status = Open()->Register(bytes_, Access::kLocal).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("max_mr_size of the device is 4096"));
  EXPECT_EQ(fake_->NumCalls("RegisterMemory"), 0);
}

TEST_F(VerbsDomainTest, NumberOfRegionsOfTheDeviceIsNamed) {
  fake_->device().max_mr = 1;
  const std::shared_ptr<VerbsDomain> domain = Open();
  const absl::StatusOr<Region> first = domain->Register(bytes_, Access::kLocal);
  ASSERT_TRUE(first.ok());
  fake_->FailCall("RegisterMemory", 0, ENOMEM);
  const absl::Status status = domain->Register(bytes_, Access::kLocal).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("max_mr of the device is 1"));
}

TEST_F(VerbsDomainTest, UnmappedMemoryIsInvalid) {
  const std::shared_ptr<VerbsDomain> domain = Open();
  fake_->FailCall("RegisterMemory", 0, EFAULT);
  const absl::Status status = domain->Register(bytes_, Access::kLocal).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
}

TEST_F(VerbsDomainTest, OneDomainForEachDeviceWhileItIsUsed) {
  VerbsDomains domains(fake_);
  ibv_context other_device = {};
  rdma_cm_id other = connection_;
  other.verbs = &other_device;
  std::shared_ptr<VerbsDomain> first = *domains.Of(&connection_);
  EXPECT_EQ(*domains.Of(&connection_), first);
  EXPECT_NE(*domains.Of(&other), first);
  EXPECT_EQ(fake_->LiveObjects(), "1 event channels 1 ids 1 domains ")
      << "the other one had no user";
  first.reset();
  EXPECT_EQ(fake_->LiveObjects(), "");
  EXPECT_TRUE(domains.Of(&connection_).ok());
}

}  // namespace
}  // namespace vof
