// SPDX-License-Identifier: Apache-2.0
//
// A target with a memory disk "disk0" in this process, and how to reach it, for tests of the
// clients.
//
//   class MyTest : public ClientFixture {};       // TEST_P over fabric (client_fabrics.h), dialect
//   auto client = BlkClient::Connect(TheUri("queues=2"), &registry_, {});
#ifndef VOF_TESTING_CLIENT_CLIENT_FIXTURE_H_
#define VOF_TESTING_CLIENT_CLIENT_FIXTURE_H_

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/runtime/backend.h"
#include "core/runtime/target.h"
#include "core/runtime/uri.h"
#include "devices/blk/blk_device.h"
#include "devices/blk/client/blk_client.h"
#include "devices/blk/store_memory.h"
#include "gtest/gtest.h"
#include "testing/client/client_fabrics.h"

namespace vof {

inline constexpr uint64_t kDiskBytes = 8u << 20;

// Parameters: the name of a fabric, and "v5" or "ref".
class ClientFixture : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  void SetUp() override {
    RegisterClientFabrics(registry_);
    const std::vector<ClientFabric> fabrics = ClientFabrics();
    const auto found = std::find_if(fabrics.begin(), fabrics.end(), [](const ClientFabric& f) {
      return f.name == std::get<0>(GetParam());
    });
    ASSERT_NE(found, fabrics.end());
    fabric_ = *found;
    auto target = TargetServer::Start(TargetOptionsOfTest(), &registry_);
    ASSERT_TRUE(target.ok()) << target.status();
    target_ = *std::move(target);
    auto store = MakeMemoryStore({.size_bytes = kDiskBytes});
    ASSERT_TRUE(store.ok()) << store.status();
    auto device = MakeBlkDevice({.serial = "serial-1"}, *store);
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *std::move(device);
    ASSERT_TRUE(target_->AddDevice("disk0", device_).ok());
    auto address = target_->Listen(fabric_.listen);
    ASSERT_TRUE(address.ok()) << address.status();
    address_ = *address;
  }
  void TearDown() override {
    if (target_ != nullptr) target_->Stop();
  }
  virtual TargetServerOptions TargetOptionsOfTest() {
    TargetServerOptions options;
    options.reactors = 2;
    // What adapters pin, an emulated one slowly.
    options.pool_bytes = 2 * kMinPoolBytes;
    options.limits.max_session_bytes = kMinPoolBytes;
    return options;
  }

  const ClientFabric& fabric() const { return fabric_; }
  bool native() const { return std::get<1>(GetParam()) == "v5"; }

  Uri TheUri(const std::string& options = "", const std::string& name = "disk0") const {
    Uri uri = address_;
    uri.name = name;
    if (uri.scheme == "loop") uri.options.transmission = fabric_.transmission;
    uri.options.dialect = native() ? Dialect::kV5 : Dialect::kRef;
    std::string text = FormatUri(uri);
    if (!options.empty() && text.find('?') == std::string::npos) text += "?";
    if (!options.empty()) absl::StrAppend(&text, "&", options);
    auto parsed = ParseUri(text);
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    return *parsed;
  }
  std::unique_ptr<BlkClient> Connect(const std::string& options = "",
                                     DeviceClientOptions client_options = {}) {
    auto client = BlkClient::Connect(TheUri(options), &registry_, std::move(client_options));
    EXPECT_TRUE(client.ok()) << client.status();
    return client.ok() ? *std::move(client) : nullptr;
  }

  ClientFabric fabric_;
  BackendRegistry registry_;
  std::unique_ptr<TargetServer> target_;
  std::shared_ptr<BlkDevice> device_;
  Uri address_;
};

inline auto EveryFabricAndDialect() {
  std::vector<std::string> names;
  for (const ClientFabric& fabric : ClientFabrics()) names.push_back(fabric.name);
  return testing::Combine(testing::ValuesIn(names), testing::Values("v5", "ref"));
}
inline std::string FabricAndDialect(
    const testing::TestParamInfo<std::tuple<std::string, std::string>>& info) {
  return std::get<0>(info.param) + "_" + std::get<1>(info.param);
}

}  // namespace vof

#endif  // VOF_TESTING_CLIENT_CLIENT_FIXTURE_H_
