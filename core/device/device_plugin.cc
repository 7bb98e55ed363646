// SPDX-License-Identifier: Apache-2.0
#include "core/device/device_plugin.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace vof {

std::string DescribeDeviceAbi(const DeviceAbi& abi) {
  return absl::StrCat("compiler ABI ", abi.compiler_abi, ", Abseil ", abi.absl_release, ", seam ",
                      abi.seam_version, ", request ", abi.request_bytes, " bytes");
}

absl::Status LoadDevicePlugin(const std::string& path, DeviceFactoryRegistry* registry) {
  // Never closed: see the header.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::NotFoundError(absl::StrCat("cannot load plugin ", path, ": ", dlerror()));
  }
  using EntryPoint = decltype(&vof_device_plugin_v1);
  const auto entry = reinterpret_cast<EntryPoint>(dlsym(library, kDevicePluginEntryPoint));
  if (entry == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, " is not a device plugin: it does not export ", kDevicePluginEntryPoint));
  }
  const DevicePluginV1* const plugin = entry();
  if (plugin == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("plugin ", path, " refused to load"));
  }
  const DeviceAbi own;
  if (!(plugin->abi == own)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "plugin ", path, " was built for another program (", DescribeDeviceAbi(plugin->abi),
        "; this one has ", DescribeDeviceAbi(own), "): build it again"));
  }
  if (plugin->register_types == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("plugin ", path, " registers no device type"));
  }
  return plugin->register_types(registry);
}

}  // namespace vof
