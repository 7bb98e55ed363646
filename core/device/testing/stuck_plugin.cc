// SPDX-License-Identifier: Apache-2.0
//
// A plugin with one device type, "test-stuck", that never comes back to the reactor of the first
// session, for tests of what becomes of the target.
#include <unistd.h>

#include <memory>

#include "core/device/device_plugin.h"

namespace vof {
namespace {

class Stuck final : public Device {
 public:
  DeviceIdentity identity() const override { return {.device_type = 0x7fff}; }
  uint64_t features() const override { return 0; }
  uint16_t num_queues() const override { return 1; }
  uint16_t max_queue_size() const override { return 16; }
  absl::StatusOr<std::unique_ptr<DeviceQueue>> OpenQueue(uint16_t) override {
    return absl::UnimplementedError("no queue of it is ever opened");
  }
  std::shared_ptr<void> SubscribeConfig(ConfigListener) override {
    while (true) pause();
  }
};

class StuckFactory final : public DeviceFactory {
 public:
  std::string_view type() const override { return "test-stuck"; }
  std::vector<DeviceOptionHelp> options() const override { return {}; }
  std::optional<DeviceOptionProblem> Check(const DeviceOptionList&) const override {
    return std::nullopt;
  }
  absl::StatusOr<std::shared_ptr<Device>> Make(std::string_view,
                                               const DeviceOptionList&) const override {
    return std::make_shared<Stuck>();
  }
};

}  // namespace
}  // namespace vof

extern "C" const vof::DevicePluginV1* vof_device_plugin_v1() {
  static constexpr vof::DevicePluginV1 kPlugin = {
      .register_types = [](vof::DeviceFactoryRegistry* registry) {
        return registry->Add(std::make_unique<vof::StuckFactory>());
      }};
  return &kPlugin;
}
