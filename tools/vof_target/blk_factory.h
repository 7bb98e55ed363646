// SPDX-License-Identifier: Apache-2.0
//
// Makes the block devices of a configuration: device type "blk".
//
//   registry.Add(std::make_unique<BlkFactory>(BlkHooks{.on_created = ..., .on_error = ...}));
//   auto device = (*registry.Find("blk"))->Make("disk0", {{"store", "memory"}, {"size", "1G"}});
//
// Control threads only.
#ifndef VOF_TOOLS_VOF_TARGET_BLK_FACTORY_H_
#define VOF_TOOLS_VOF_TARGET_BLK_FACTORY_H_

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "core/device/device_factory.h"
#include "devices/blk/store_error.h"

namespace vof {

struct BlkHooks {
  // A disk file was not there and has been created; on the thread that calls Make.
  std::function<void(const std::string& path)> on_created = nullptr;
  // Why a device's file is served by plain calls, not by io_uring; on the thread that calls Make.
  std::function<void(std::string_view device, const absl::Status& why)> on_plain_calls = nullptr;
  // An operation of a device's store failed. On reactor threads; must not block.
  std::function<void(std::string_view device, const StoreError& error)> on_error = nullptr;
};

class BlkFactory final : public DeviceFactory {
 public:
  explicit BlkFactory(BlkHooks hooks = {}) : hooks_(std::move(hooks)) {}

  std::string_view type() const override { return "blk"; }
  std::vector<DeviceOptionHelp> options() const override;
  std::optional<DeviceOptionProblem> Check(const DeviceOptionList& options) const override;
  absl::StatusOr<std::shared_ptr<Device>> Make(std::string_view name,
                                               const DeviceOptionList& options) const override;
  DeviceOptionList WithDefaults(std::string_view name,
                                const DeviceOptionList& options) const override;

 private:
  const BlkHooks hooks_;
};

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TARGET_BLK_FACTORY_H_
