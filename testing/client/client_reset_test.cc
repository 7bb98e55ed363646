// SPDX-License-Identifier: Apache-2.0
//
// The clients when TCP says RST instead of FIN, at every stage of a session.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/runtime/client.h"
#include "gtest/gtest.h"
#include "testing/client/client_fixture.h"
#include "testing/client/reset_proxy.h"

namespace vof {
namespace {

class ClientResetTest : public ClientFixture {
 protected:
  // Ends in an error that names the device, soon; never in a hang or in wrong data.
  void ConnectAndRead(const ResetProxy& proxy, FailureKind expected = FailureKind::kLost) {
    Uri uri = TheUri("connect_timeout=20s&io_timeout=20s");
    uri.port = proxy.port();
    const auto began = std::chrono::steady_clock::now();
    absl::Status status;
    {
      auto client = BlkClient::Connect(uri, &registry_, {});
      status = client.status();
      std::vector<std::byte> data(1 << 20);
      // Several requests, each of several pieces: the cut finds some of them half answered.
      for (int i = 0; i < 4 && status.ok(); ++i) status = (*client)->Read(0, data);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
    if (!proxy.has_cut()) return;
    EXPECT_EQ(FailureKindOf(status), expected) << status;
    EXPECT_NE(status.message().find("Connection reset by peer"), absl::string_view::npos) << status;
    EXPECT_NE(status.message().find(absl::StrCat(proxy.port(), "/disk0")), absl::string_view::npos)
        << status;
  }
};

TEST_P(ClientResetTest, OfTheControlQueueWhileConnecting) {
  for (const uint64_t after_bytes : {0, 1, 15, 16, 17, 40, 160}) {
    const ResetProxy proxy(address_.port, {.connection = 0, .after_bytes = after_bytes});
    ASSERT_TRUE(proxy.ok());
    // Before its first answer nobody knows whether it is a target.
    ConnectAndRead(proxy,
                   after_bytes < kHeaderBytes ? FailureKind::kCannotConnect : FailureKind::kLost);
    EXPECT_TRUE(proxy.has_cut()) << after_bytes;
  }
}

TEST_P(ClientResetTest, OfAVirtqueueInTheMiddleOfARequest) {
  // In its Connect, in a header, between header and data, in the data of any request.
  for (const uint64_t after_bytes : {0, 15, 16, 20, 32, 100, 4096, 70'000, 300'000, 3'000'001}) {
    const ResetProxy proxy(address_.port, {.connection = 1, .after_bytes = after_bytes});
    ASSERT_TRUE(proxy.ok());
    ConnectAndRead(proxy);
    EXPECT_TRUE(proxy.has_cut()) << after_bytes;
  }
}

TEST_P(ClientResetTest, TheTargetGoesOn) {
  {
    const ResetProxy proxy(address_.port, {.connection = 1, .after_bytes = 100'000});
    ASSERT_TRUE(proxy.ok());
    ConnectAndRead(proxy);
  }
  auto client = Connect();
  ASSERT_NE(client, nullptr);
  std::vector<std::byte> data(4096);
  EXPECT_TRUE(client->Read(0, data).ok());
}

INSTANTIATE_TEST_SUITE_P(Tcp, ClientResetTest,
                         testing::Combine(testing::Values("tcp"), testing::Values("v5", "ref")),
                         FabricAndDialect);

}  // namespace
}  // namespace vof
