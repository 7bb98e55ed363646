// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/disk_files.h"

#include <filesystem>
#include <map>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "tools/vof_target/blk_spec.h"

namespace vof {
namespace {

// Of what is there, and of the folders on the way to what is not.
std::string RealPath(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, error);
  return error ? path : real.string();
}

// What points a person to the path of `device`.
std::string WhereOfPath(const DeviceConfig& device) {
  for (size_t i = 0; i < device.options.size(); ++i) {
    if (device.options[i].key == "path") return device.option_where[i];
  }
  return device.where;
}

}  // namespace

SettingErrors CheckDiskFiles(const TargetConfig& config) {
  struct User {
    const DeviceConfig* device;
    bool read_only;
  };
  SettingErrors errors;
  std::map<std::string, User> users;
  for (const DeviceConfig& device : config.devices) {
    BlkSpec spec;
    if (device.type != "blk" || ParseBlkSpec(device.options, &spec)) continue;
    if (spec.store != BlkStoreKind::kFile) continue;
    const bool read_only = spec.options.read_only;
    const auto [first, added] = users.try_emplace(RealPath(spec.path), User{&device, read_only});
    if (added || (first->second.read_only && read_only)) continue;
    errors.push_back(
        {WhereOfPath(device),
         absl::StrCat("\"", spec.path, "\" is the file of \"", first->second.device->name.value,
                      "\", too: give each a file of its own, serve both read-only, or "
                      "one with shared=true")});
  }
  return errors;
}

}  // namespace vof
