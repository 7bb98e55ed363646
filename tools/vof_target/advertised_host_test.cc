// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/advertised_host.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

namespace vof {
namespace {

TEST(AdvertisedHostTest, KeepsWhatCanBeConnectedTo) {
  for (const char* host : {"127.0.0.1", "10.1.2.3", "::1", "fe80::1%eth0", "storage.example"}) {
    EXPECT_EQ(AdvertisedHost(host), host);
  }
}

TEST(AdvertisedHostTest, ReplacesEveryWayToWriteAny) {
  in_addr v4;
  EXPECT_EQ(inet_pton(AF_INET, AdvertisedHost("0.0.0.0").c_str(), &v4), 1);
  EXPECT_NE(v4.s_addr, 0u);
  for (const char* any : {"::", "0:0:0:0:0:0:0:0"}) {
    const std::string host = AdvertisedHost(any);
    in6_addr v6;
    ASSERT_EQ(inet_pton(AF_INET6, host.c_str(), &v6), 1) << host;
    EXPECT_FALSE(IN6_IS_ADDR_UNSPECIFIED(&v6));
  }
}

}  // namespace
}  // namespace vof
