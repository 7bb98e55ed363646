// SPDX-License-Identifier: Apache-2.0
//
// Whether a configuration makes sense, before anything is opened.
//
//   SettingErrors errors = CheckTargetConfig(config, backends, factories);
//   if (!errors.empty()) ...  // each says where it was written, what is wrong and what would be
//   right
//
// Plugins that the configuration names are in `factories` already (they are what gives types a
// meaning).
#ifndef VOF_TOOLS_CONFIG_CONFIG_CHECK_H_
#define VOF_TOOLS_CONFIG_CONFIG_CHECK_H_

#include "core/device/device_factory.h"
#include "core/runtime/backend.h"
#include "tools/config/target_config.h"

namespace vof {

// Whether `factories` holds every type there is. kSome when a plugin could not be loaded: a device
// of a type that is not there is then no error of its own.
enum class KnownTypes { kAll, kSome };

// Every error, not only the first: those of `config.unreadable` and those of what could be read.
// Control threads only; opens nothing.
SettingErrors CheckTargetConfig(const TargetConfig& config, const BackendRegistry& backends,
                                const DeviceFactoryRegistry& factories,
                                KnownTypes known = KnownTypes::kAll);

}  // namespace vof

#endif  // VOF_TOOLS_CONFIG_CONFIG_CHECK_H_
