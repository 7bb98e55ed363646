// SPDX-License-Identifier: Apache-2.0
#include "backends/common/resolver.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>

namespace vof {
namespace {

std::string FirstOf(const ResolveQuery& query) {
  const auto found = SystemResolver()(query);
  return found.ok() ? found->front().Text() : std::string(found.status().message());
}

TEST(SystemResolverTest, NumbersStayWhatTheyAre) {
  EXPECT_EQ(FirstOf({.host = "192.0.2.1", .port = 7}), "192.0.2.1:7");
  EXPECT_EQ(FirstOf({.host = "2001:db8::1", .port = 7}), "[2001:db8::1]:7");
}

TEST(SystemResolverTest, AMappedAddressIsTheOneOfIpv4) {
  for (const bool listening : {false, true}) {
    const ResolveQuery query{.host = "::ffff:192.0.2.1", .port = 7, .listening = listening};
    EXPECT_EQ(FirstOf(query), "192.0.2.1:7");
  }
}

TEST(SystemResolverTest, AnErrorNamesTheHost) {
  EXPECT_EQ(FirstOf({.host = "no such host"}).find("cannot find the address of 'no such host'"),
            0u);
}

}  // namespace
}  // namespace vof
