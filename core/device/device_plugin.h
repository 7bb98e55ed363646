// SPDX-License-Identifier: Apache-2.0
//
// Device types from a shared object that a configuration names.
//
// In the plugin (link it with -shared -fPIC, as C++20, with the compiler and the headers of the
// program):
//
//   extern "C" const vof::DevicePluginV1* vof_device_plugin_v1() {
//     static constexpr vof::DevicePluginV1 kPlugin = {
//         .register_types = [](vof::DeviceFactoryRegistry* registry) {
//           return registry->Add(std::make_unique<CounterFactory>());
//         }};
//     return &kPlugin;
//   }
//
// In the program:
//
//   absl::Status status = LoadDevicePlugin("/usr/lib/vof/counter.so", &registry);
//
// A plugin is code of this process: it is trusted as the program is. It stays loaded until the
// process ends, since devices and error texts may point into it. Control threads only, before the
// registry is shared.
#ifndef VOF_CORE_DEVICE_DEVICE_PLUGIN_H_
#define VOF_CORE_DEVICE_DEVICE_PLUGIN_H_

#include <cstdint>
#include <string>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "core/device/device.h"
#include "core/device/device_factory.h"
#include "core/device/device_request.h"

namespace vof {

// What has to be equal on both sides, since they exchange C++ objects.
struct DeviceAbi {
  uint32_t compiler_abi = __GXX_ABI_VERSION;
#ifdef ABSL_LTS_RELEASE_VERSION
  uint32_t absl_release = ABSL_LTS_RELEASE_VERSION;
#else
  uint32_t absl_release = 0;
#endif
  // Raised by hand when the virtual functions of Device, DeviceQueue or DeviceFactory change.
  uint32_t seam_version = 3;
  uint32_t request_bytes = sizeof(DeviceRequest);

  bool operator==(const DeviceAbi&) const = default;
};

// "compiler ABI 1017, Abseil 20220623, seam 3, request 384 bytes"
std::string DescribeDeviceAbi(const DeviceAbi& abi);

// What the entry point returns. Fields are only ever added, at the end, under a new entry point's
// name.
struct DevicePluginV1 {
  DeviceAbi abi = {};
  // Called once, after `abi` was found equal to the program's.
  absl::Status (*register_types)(DeviceFactoryRegistry* registry) = nullptr;
};

inline constexpr char kDevicePluginEntryPoint[] = "vof_device_plugin_v1";

// Loads the shared object and registers its types. `path` with a slash in it is that file; without
// one it is searched for as dlopen does. kNotFound: no such file, or not loadable (the loader's
// reason is in the message). kFailedPrecondition: not a plugin, or built for another program (both
// ABIs are in the message).
absl::Status LoadDevicePlugin(const std::string& path, DeviceFactoryRegistry* registry);

}  // namespace vof

// The entry point, declared so that a plugin's definition is checked by the compiler.
extern "C" __attribute__((visibility("default"))) const vof::DevicePluginV1* vof_device_plugin_v1();

#endif  // VOF_CORE_DEVICE_DEVICE_PLUGIN_H_
