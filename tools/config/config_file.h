// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes the configuration file: protobuf text format of tools/config/target.proto.
//
//   TargetConfig config;
//   SettingErrors errors = ReadConfigFile("/etc/vof/target.conf", &config);
//   PrintErrors("vof-target", FormatSettingErrors(errors));
//
// Strict: an unknown field, a field given twice and a value of the wrong kind are errors at
// LINE:COLUMN, counted from 1. Values that are no number of the kind they should be go to
// TargetConfig::unreadable; they and what the values mean together are reported afterwards
// (config_check.h). Nothing is opened but the file itself.
#ifndef VOF_TOOLS_CONFIG_CONFIG_FILE_H_
#define VOF_TOOLS_CONFIG_CONFIG_FILE_H_

#include <string>
#include <string_view>

#include "tools/config/target_config.h"

namespace vof {

// A configuration is written by people; anything larger is some other file.
inline constexpr size_t kMaxConfigFileBytes = 1u << 20;

// Both replace the values that the text mentions and append its listeners, devices and plugins. On
// errors `config` is left half filled.
SettingErrors ReadConfigText(std::string_view text, const std::string& file_name,
                             TargetConfig* config);
SettingErrors ReadConfigFile(const std::string& path, TargetConfig* config);

// Every setting with its effective value, as text that ReadConfigText reads back to the same
// meaning. `usable_cpus` settles what depends on the machine (TargetConfig::SpinUs).
std::string FormatConfig(const TargetConfig& config, uint32_t usable_cpus);

}  // namespace vof

#endif  // VOF_TOOLS_CONFIG_CONFIG_FILE_H_
