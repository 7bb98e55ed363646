// SPDX-License-Identifier: Apache-2.0
// Runs in a guest with CAP_IPC_LOCK dropped and 64 KiB of lockable memory: what a process of an
// ordinary user gets on a host whose administrator has not raised the limit.
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <sys/resource.h>

#include <cerrno>
#include <memory>
#include <vector>

namespace {

constexpr size_t kLimitBytes = 64 * 1024;
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE;

template <typename T, auto Release>
using Handle = std::unique_ptr<T, decltype([](T* object) { Release(object); })>;

TEST(MemoryLockTest, RegistrationStopsAtTheLimit) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
  ASSERT_EQ(limit.rlim_cur, kLimitBytes);
  ASSERT_EQ(limit.rlim_max, kLimitBytes);

  int device_count = 0;
  const Handle<ibv_device*, ibv_free_device_list> devices(ibv_get_device_list(&device_count));
  ASSERT_EQ(device_count, 1);
  const Handle<ibv_context, ibv_close_device> context(ibv_open_device(devices.get()[0]));
  ASSERT_NE(context, nullptr);
  const Handle<ibv_pd, ibv_dealloc_pd> domain(ibv_alloc_pd(context.get()));
  ASSERT_NE(domain, nullptr);

  std::vector<char> memory(16 * kLimitBytes);
  errno = 0;
  const Handle<ibv_mr, ibv_dereg_mr> too_large(
      ibv_reg_mr(domain.get(), memory.data(), memory.size(), kAccess));
  EXPECT_EQ(too_large, nullptr);
  EXPECT_EQ(errno, ENOMEM);

  const Handle<ibv_mr, ibv_dereg_mr> small(
      ibv_reg_mr(domain.get(), memory.data(), kLimitBytes / 4, kAccess));
  EXPECT_NE(small, nullptr) << "errno " << errno;
}

}  // namespace
