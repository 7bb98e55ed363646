// SPDX-License-Identifier: Apache-2.0
//
// Makes the block devices of a configuration: device type "blk".
//
//   registry.Add(std::make_unique<BlkFactory>());
//   auto device = (*registry.Find("blk"))->Make("disk0", {{"store", "memory"}, {"size", "1G"}});
//
// Control threads only.
#ifndef VOF_TOOLS_VOF_TARGET_BLK_FACTORY_H_
#define VOF_TOOLS_VOF_TARGET_BLK_FACTORY_H_

#include "core/device/device_factory.h"

namespace vof {

class BlkFactory final : public DeviceFactory {
 public:
  std::string_view type() const override { return "blk"; }
  std::vector<DeviceOptionHelp> options() const override;
  std::optional<DeviceOptionProblem> Check(const DeviceOptionList& options) const override;
  absl::StatusOr<std::shared_ptr<Device>> Make(std::string_view name,
                                               const DeviceOptionList& options) const override;
};

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TARGET_BLK_FACTORY_H_
