// SPDX-License-Identifier: Apache-2.0
//
// A plugin that was built against another device seam: it must be refused before its code runs.
#include <cstdlib>

#include "core/device/device_plugin.h"

extern "C" const vof::DevicePluginV1* vof_device_plugin_v1() {
  static constexpr vof::DevicePluginV1 kPlugin = {
      .abi = {.seam_version = 0},
      .register_types = [](vof::DeviceFactoryRegistry*) -> absl::Status { std::abort(); }};
  return &kPlugin;
}
