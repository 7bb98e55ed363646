// SPDX-License-Identifier: Apache-2.0
#include "core/device/device_factory.h"

#include <gtest/gtest.h>

namespace vof {
namespace {

class LampFactory final : public DeviceFactory {
 public:
  explicit LampFactory(std::string type = "lamp") : type_(std::move(type)) {}
  std::string_view type() const override { return type_; }
  std::vector<DeviceOptionHelp> options() const override {
    return {{"colour", "red or green"}, {"watts", "a number"}};
  }
  std::optional<DeviceOptionProblem> Check(const DeviceOptionList& options) const override {
    for (const DeviceOption& option : options) {
      if (option.key == "colour" && option.value == "beige") {
        return DeviceOptionProblem{"colour", "no"};
      }
    }
    return std::nullopt;
  }
  absl::StatusOr<std::shared_ptr<Device>> Make(std::string_view,
                                               const DeviceOptionList&) const override {
    return absl::UnimplementedError("dark");
  }

 private:
  std::string type_;
};

TEST(DeviceFactoryRegistryTest, FindsByTypeAndListsWhatItKnows) {
  DeviceFactoryRegistry registry;
  ASSERT_TRUE(registry.Add(std::make_unique<LampFactory>()).ok());
  ASSERT_TRUE(registry.Add(std::make_unique<LampFactory>("candle")).ok());
  EXPECT_EQ(registry.Types(), (std::vector<std::string>{"candle", "lamp"}));
  EXPECT_EQ((*registry.Find("lamp"))->type(), "lamp");
  EXPECT_EQ(std::string(registry.Find("sun").status().message()),
            "unknown device type \"sun\"; known: candle, lamp");
}

TEST(DeviceFactoryRegistryTest, RefusesATypeTwice) {
  DeviceFactoryRegistry registry;
  ASSERT_TRUE(registry.Add(std::make_unique<LampFactory>()).ok());
  EXPECT_EQ(registry.Add(std::make_unique<LampFactory>()).code(), absl::StatusCode::kAlreadyExists);
}

TEST(CheckDeviceOptionsTest, NamesTheOptionAtFault) {
  const LampFactory factory;
  EXPECT_FALSE(CheckDeviceOptions(factory, {}));
  EXPECT_FALSE(CheckDeviceOptions(factory, {{"watts", "5"}, {"colour", "red"}}));

  const auto unknown = CheckDeviceOptions(factory, {{"watts", "5"}, {"volts", "5"}});
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->key, "volts");
  EXPECT_EQ(unknown->message, "device type \"lamp\" has no option \"volts\"; known: colour, watts");

  const auto twice = CheckDeviceOptions(factory, {{"watts", "5"}, {"watts", "6"}});
  ASSERT_TRUE(twice);
  EXPECT_EQ(twice->key, "watts");

  const auto value = CheckDeviceOptions(factory, {{"colour", "beige"}});
  ASSERT_TRUE(value);
  EXPECT_EQ(value->key, "colour");
}

}  // namespace
}  // namespace vof
